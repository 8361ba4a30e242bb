package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"situ.gitops/applier"
	"situ.gitops/applier/cluster"
	"situ.gitops/planner"
	"situ.gitops/sync/gitrepo"
	"situ.gitops/sync/poller"
)

// syncOptions are the flags of the commands that change a cluster.
type syncOptions struct {
	source  sourceOptions
	cluster clusterOptions
	log     logOptions
	noNotes bool
	policy  policyOptions
	owner   ownerOptions
}

func (o *syncOptions) register(cmd *cobra.Command) {
	o.source.register(cmd)
	o.cluster.register(cmd)
	o.log.register(cmd)
	o.policy.register(cmd)
	o.owner.register(cmd)
	cmd.Flags().BoolVar(&o.noNotes, "no-notes", false, "write no notes")
}

// policyOptions say how all workloads are treated.
type policyOptions struct{ pull string }

func (o *policyOptions) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.pull, "pull", string(planner.PullAlways),
		"always, if-allowed or never: have new images on the nodes before containers are stopped;\nif-allowed goes without where the server refuses the pods that pull")
}

func (o *policyOptions) pullPolicy() (planner.PullPolicy, error) {
	switch policy := planner.PullPolicy(o.pull); policy {
	case planner.PullAlways, planner.PullIfAllowed, planner.PullNever:
		return policy, nil
	}
	return "", fmt.Errorf("--pull is %q; want always, if-allowed or never", o.pull)
}

// syncing is everything that a sync is made of, wired.
type syncing struct {
	loop    *poller.Loop
	applier *applier.Applier
	live    *live
	log     *logrus.Logger
	repo    *gitrepo.Repo
	kube    *cluster.Client
}

// open wires a sync. Nothing is asked yet.
func (o *syncOptions) open(cmd *cobra.Command) (*syncing, error) {
	shown := newLive(cmd.ErrOrStderr())
	log, err := o.log.logger(shown)
	if err != nil {
		return nil, err
	}
	fault, err := applier.ParseFault(os.Getenv("SITU_FAULT"))
	if err != nil {
		return nil, err
	}
	pull, err := o.policy.pullPolicy()
	if err != nil {
		return nil, err
	}
	name, err := o.cluster.named()
	if err != nil {
		return nil, err
	}
	repo, err := o.source.open(cmd, name)
	if err != nil {
		return nil, err
	}
	git, err := o.owner.reader(repo, o.source)
	if err != nil {
		return nil, errors.Join(err, repo.Close())
	}
	git.Policy.Pull = pull
	kube, err := o.cluster.open(cmd.Context(), log)
	if err != nil {
		return nil, errors.Join(err, repo.Close())
	}
	carrier := &applier.Applier{Cluster: kube, Log: log, Fault: fault}
	loop := &poller.Loop{
		Source:   git,
		Settler:  carrier,
		Cluster:  name,
		Log:      log,
		Progress: shown.round,
	}
	if !o.noNotes {
		loop.Notes = repo
	}
	return &syncing{loop: loop, applier: carrier, live: shown, log: log, repo: repo, kube: kube}, nil
}

// close ends watches and releases the repository.
func (s *syncing) close() {
	s.kube.Close()
	if err := s.repo.Close(); err != nil {
		s.log.WithError(err).Warn("repository not closed")
	}
}
