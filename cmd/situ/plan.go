package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"situ.gitops/applier"
	"situ.gitops/cmd/situ/report"
	"situ.gitops/planner"
	"situ.gitops/planner/kruise"
)

const planLong = `plan shows what would be done, per workload and pod, and why. It changes nothing.

  situ plan                      the newest commit of --repo against the cluster
  situ plan DIR                  a local folder against the cluster
  situ plan --from A --to B      from one state to another, without a cluster: all
                                 pods are taken as running, ready and made from A

A and B are folders, or revisions of the Git repository around the working
directory; of a revision, the folder --path is read.

`

const planExample = `  situ plan --repo https://git.example/shop.git --path deploy
  situ plan deploy/
  situ plan --from origin/main --to HEAD --path deploy -o markdown`

// planOptions are the flags of plan.
type planOptions struct {
	source   sourceOptions
	cluster  clusterOptions
	output   outputOptions
	log      logOptions
	owner    ownerOptions
	from, to string
}

// newPlanCommand shows what a commit would do.
func newPlanCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:     "plan [DIR]",
		Short:   "Show what a commit would do, and why",
		Long:    planLong + exitCodesHelp,
		Example: planExample,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			printer, err := o.output.printer(cmd)
			if err != nil {
				return err
			}
			name, plan, err := o.plan(cmd, args)
			if err != nil {
				return err
			}
			if err := printer.Plan(name, plan); err != nil {
				return err
			}
			return ending(planCode(report.Summarize(plan)))
		},
	}
	o.source.register(cmd)
	o.cluster.register(cmd)
	o.output.register(cmd)
	o.log.register(cmd)
	o.owner.register(cmd)
	cmd.Flags().StringVar(&o.from, "from", "", "folder or revision that the pods are taken to be made from")
	cmd.Flags().StringVar(&o.to, "to", "", "folder or revision that is wanted")
	return cmd
}

// planCode is the exit code for a plan.
func planCode(summary report.Summary) int {
	switch {
	case summary.Troubled():
		return exitTroubled
	case summary.Changes():
		return exitChanges
	}
	return exitOK
}

// plan makes the plan that was asked for, and names its cluster.
func (o *planOptions) plan(cmd *cobra.Command, args []string) (string, planner.Plan, error) {
	offline := o.from != "" || o.to != ""
	switch {
	case offline && len(args) > 0:
		return "", planner.Plan{}, errors.New("a folder and --from, --to exclude each other; give one of them")
	case offline && (o.from == "" || o.to == ""):
		return "", planner.Plan{}, errors.New("--from and --to belong together; give both")
	case offline:
		plan, err := o.planOffline(cmd)
		return "", plan, err
	}
	name, err := o.cluster.named()
	if err != nil {
		return "", planner.Plan{}, err
	}
	commit, err := o.wanted(cmd, args)
	if err != nil {
		return "", planner.Plan{}, err
	}
	plan, err := o.planAgainstCluster(cmd, commit)
	return name, plan, err
}

// wanted is the commit to plan: of a folder, or the repository's newest.
func (o *planOptions) wanted(cmd *cobra.Command, args []string) (planner.Commit, error) {
	if len(args) == 1 {
		commit, err := readFolder(args[0])
		commit.Source, commit.Policy.TakeOver = o.owner.name, o.owner.takeOver // a folder's own name says nothing
		return commit, err
	}
	if o.source.repo == "" {
		return planner.Commit{}, errors.New("nothing to plan: give a folder, or --repo URL (SITU_REPO), or --from and --to")
	}
	repo, err := o.source.open(cmd, "")
	if err != nil {
		return planner.Commit{}, err
	}
	git, err := o.owner.reader(repo, o.source)
	if err != nil {
		return planner.Commit{}, errors.Join(err, repo.Close())
	}
	head, err := git.Poll(cmd.Context())
	if err != nil {
		return planner.Commit{}, away(errors.Join(err, repo.Close()))
	}
	rev, err := git.Read(cmd.Context(), head)
	return rev.Commit, away(errors.Join(err, repo.Close()))
}

func (o *planOptions) planAgainstCluster(cmd *cobra.Command, commit planner.Commit) (planner.Plan, error) {
	log, err := o.log.logger(cmd.ErrOrStderr())
	if err != nil {
		return planner.Plan{}, err
	}
	kube, err := o.cluster.open(cmd.Context(), log)
	if err != nil {
		return planner.Plan{}, err
	}
	defer kube.Close()
	plan, err := (&applier.Applier{Cluster: kube, Log: log}).Plan(cmd.Context(), commit)
	return plan, away(err)
}

// planOffline plans from one state to another.
func (o *planOptions) planOffline(cmd *cobra.Command) (planner.Plan, error) {
	from, err := o.read(cmd, o.from)
	if err != nil {
		return planner.Plan{}, fmt.Errorf("--from: %w", err)
	}
	to, err := o.read(cmd, o.to)
	if err != nil {
		return planner.Plan{}, fmt.Errorf("--to: %w", err)
	}
	for _, m := range to.Manifests {
		to.Problems = append(to.Problems, kruise.Unsupported(m)...)
	}
	from.Manifests, to.Manifests = kruise.HostAll(from.Manifests), kruise.HostAll(to.Manifests)
	if m, n, many := planner.TooMany(from.Manifests); many {
		return planner.Plan{}, fmt.Errorf("--from: %s: replicas is %d; without a cluster a plan is for at most %d pods in all", m.Origin, n, planner.MaxAssumed)
	}
	return planner.Decide(to, planner.Assume(from.Manifests, to.Manifests)), nil
}
