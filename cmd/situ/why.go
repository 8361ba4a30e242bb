package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"situ.gitops/applier"
	"situ.gitops/applier/cluster"
	"situ.gitops/cmd/situ/report"
	"situ.gitops/planner"
)

const whyLong = `why tells which commit, file and decision made a running pod what it is. The pod
itself remembers its last update in place; the rest is read from the notes of
--repo. Without --repo, only what the pod remembers is told.

`

const whyExample = `  situ why pod/web-5fc78b5689-f6j2x -n shop --repo https://git.example/shop.git --cluster prod
  situ why web-0 -n shop -o json`

// whyLimit is how many commits are searched for the one that made the pod.
const whyLimit = 200

// newWhyCommand explains one pod.
func newWhyCommand() *cobra.Command {
	var source sourceOptions
	var kube clusterOptions
	var output outputOptions
	var logs logOptions
	cmd := &cobra.Command{
		Use:     "why pod/NAME",
		Short:   "Tell which commit and decision made a pod what it is",
		Long:    whyLong + exitCodesHelp,
		Example: whyExample,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			printer, err := output.printer(cmd)
			if err != nil {
				return err
			}
			name, ok := strings.CutPrefix(args[0], "pod/")
			if !ok && strings.Contains(name, "/") {
				return fmt.Errorf("%q is no pod; want pod/NAME", args[0])
			}
			log, err := logs.logger(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			client, err := kube.open(cmd.Context(), log)
			if err != nil {
				return err
			}
			defer client.Close()
			why, owners, err := explain(cmd, client, name)
			if err != nil {
				return err
			}
			if err := addDecision(cmd, &why, owners, source, kube); err != nil {
				return err
			}
			return printer.Why(why)
		},
	}
	source.register(cmd)
	kube.register(cmd)
	output.register(cmd)
	logs.register(cmd)
	return cmd
}

// explain tells what the cluster knows of a pod.
func explain(cmd *cobra.Command, client *cluster.Client, name string) (report.Why, []planner.Ref, error) {
	pod, owners, err := client.Lineage(cmd.Context(), client.DefaultNamespace(), name)
	switch {
	case errors.Is(err, cluster.ErrNoPod):
		return report.Why{}, nil, fmt.Errorf("%w; another namespace is given with --namespace", err)
	case err != nil:
		return report.Why{}, nil, away(err)
	}
	why := report.Why{
		Pod: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID), Node: pod.Spec.NodeName,
		Made: pod.CreationTimestamp.Time, Revision: planner.RevisionOf(pod),
	}
	drift, err := client.Drift(cmd.Context(), pod, owners)
	if err != nil {
		return report.Why{}, nil, away(err)
	}
	why.Drift = drift
	for _, owner := range owners {
		why.Owners = append(why.Owners, strings.ToLower(owner.Kind)+"/"+owner.Name)
	}
	if mark, touched := planner.LastUpdate(pod); touched {
		why.Commit, why.At = mark.Commit, mark.At
		why.InPlace = mark.At.After(pod.CreationTimestamp.Time)
		why.Containers = slices.Sorted(maps.Keys(mark.Restart))
	}
	return why, append(owners, planner.Ref{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}), nil
}

// addDecision adds what the notes say of the commit that made the pod: the one
// that the pod remembers, or else the newest one that changed its workload.
func addDecision(cmd *cobra.Command, why *report.Why, owners []planner.Ref, source sourceOptions, kube clusterOptions) error {
	if source.repo == "" {
		why.Missing = "the decision behind it; give --repo, where its note is"
		return nil
	}
	name, err := kube.named()
	if err != nil {
		return err
	}
	notes, err := readHistory(cmd, source, name, whyLimit)
	if err != nil {
		return err
	}
	for _, note := range notes {
		if !mayHaveMade(note, why) {
			continue
		}
		if found, ok := workloadIn(note, owners); ok {
			why.Commit, why.Origin, why.Verdict = note.Commit, found.Origin, found.Verdict
			for _, reason := range found.Reasons {
				why.Reasons = append(why.Reasons, strings.TrimPrefix(reason.Field+": "+reason.Text+" ["+reason.Rule+"]", ": "))
			}
			return nil
		}
	}
	why.Missing = fmt.Sprintf("the decision behind it; no note of cluster %s among the newest %d tells of it", name, whyLimit)
	return nil
}

// mayHaveMade: the pod remembers the commit or, where it remembers none, the
// commit was there before the pod. Pods tell whole seconds, rounded down.
func mayHaveMade(note applier.Note, why *report.Why) bool {
	if why.Commit != "" {
		return note.Commit == why.Commit
	}
	return !note.Started.Truncate(time.Second).After(why.Made)
}

// changesNoPod are verdicts that leave a workload's pods as they were made.
var changesNoPod = []string{planner.Keep.String(), planner.Remove.String(), planner.Refuse.String()}

// workloadIn finds the pod's workload in a note, if the commit changed it.
func workloadIn(note applier.Note, owners []planner.Ref) (applier.NoteWorkload, bool) {
	for _, workload := range note.Workloads {
		if slices.Contains(owners, workload.Ref()) && !slices.Contains(changesNoPod, workload.Verdict) {
			return workload, true
		}
	}
	return applier.NoteWorkload{}, false
}
