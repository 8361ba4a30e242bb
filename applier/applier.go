// Package applier carries plans out. It takes a snapshot, lets the planner
// decide, performs the plan's actions in the plan's order, and tells what came
// of each of them.
//
// The plan is law: the applier never decides, reorders or compares. What it
// owns is time: how many actions run side by side, when the next round is due,
// how often a refused action is tried again, and what happens when the process
// is told to stop. A rollout is as many rounds as the planner needs; between
// two rounds nothing is remembered but the retries, so that every round could
// be the first one after a crash.
//
//	Round    snapshot -> plan -> actions -> Outcome
//	Settle   rounds of one commit until it has ended -> Note
//
// Cluster is the way to Kubernetes, and applier/cluster is behind it.
package applier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"situ.gitops/applier/cluster"
	"situ.gitops/planner"
)

// Cluster is the cluster as the applier needs it; *cluster.Client is one.
type Cluster interface {
	// Resolve fills in what only the server knows about a commit's objects: their scope and namespace.
	Resolve(ctx context.Context, commit planner.Commit) (planner.Commit, error)
	// Snapshot shows the cluster as it is now, and what the server would say to the commit.
	Snapshot(ctx context.Context, commit planner.Commit) (planner.Snapshot, error)
	// Do carries one action out, or wraps cluster.ErrChanged if its object is not what the plan saw.
	Do(ctx context.Context, action planner.Action) error
	// Changes receives something whenever a snapshot may differ from the last one.
	Changes() <-chan struct{}
}

// Limits of one round.
const (
	workers       = 16               // actions under way at the same time
	actionTimeout = 30 * time.Second // for one action, also after the process was told to stop
)

// Applier brings a cluster to what a commit wants, one Settle at a time.
type Applier struct {
	Cluster Cluster
	Log     logrus.FieldLogger
	Fault   *Fault // a test aid; nil in earnest

	// Patience is how long Settle stays when nothing is left but to wait for
	// something that others bring, such as a kind; 0 means two minutes.
	Patience time.Duration

	// Leaves says that nobody goes on with a commit after its Settle: what its
	// last plan would have needed is removed.
	Leaves bool

	// Decide makes the plan; nil means planner.Decide.
	Decide func(planner.Commit, planner.Snapshot) planner.Plan

	repeats repeats
}

// Plan takes a snapshot and decides, and does nothing else.
func (a *Applier) Plan(ctx context.Context, commit planner.Commit) (planner.Plan, error) {
	commit, err := a.Cluster.Resolve(ctx, commit)
	if err != nil {
		return planner.Plan{}, fmt.Errorf("resolve the objects: %w", err)
	}
	return a.plan(ctx, commit)
}

// Changes receives something whenever a new round may find something to do.
func (a *Applier) Changes() <-chan struct{} { return a.Cluster.Changes() }

// plan is Plan for a commit that was resolved before.
func (a *Applier) plan(ctx context.Context, commit planner.Commit) (planner.Plan, error) {
	snap, err := a.Cluster.Snapshot(ctx, commit)
	if err != nil {
		return planner.Plan{}, fmt.Errorf("take a snapshot: %w", err)
	}
	if a.Decide != nil {
		return a.Decide(commit, snap), nil
	}
	return planner.Decide(commit, snap), nil
}

// round plans once and carries out what the plan wants now. Units that retries
// puts off are left alone.
func (a *Applier) round(ctx context.Context, commit planner.Commit, retries *retries) (Outcome, error) {
	start := time.Now()
	plan, err := a.plan(ctx, commit)
	if err != nil {
		return Outcome{}, err
	}
	planned := time.Since(start)
	outcome := Outcome{Plan: plan, Results: a.carryOut(ctx, plan, retries)}
	outcome.State = plan.State
	a.Log.WithFields(logrus.Fields{"commit": commit.ID, "state": plan.State, "planned_in": planned.String(), "took": time.Since(start).String(),
		"actions": len(outcome.Results), "done": outcome.count(Done)}).Debug("round")
	a.logRefused(outcome.Results)
	return outcome, nil
}

// logRefused tells one refused action of each unit; the others say the same.
func (a *Applier) logRefused(results []Result) {
	told := map[planner.Ref]bool{}
	for _, result := range results {
		if result.Status != Refused || told[result.Unit] {
			continue
		}
		told[result.Unit] = true
		a.Log.WithFields(logrus.Fields{"object": result.Action.Ref.String(), "action": result.Action.Name}).
			WithError(result.Err).Warn("action refused")
	}
}

func (a *Applier) patience() time.Duration {
	if a.Patience > 0 {
		return a.Patience
	}
	return 2 * time.Minute
}

// changed says whether err means that the plan was overtaken by the cluster.
func changed(err error) bool { return errors.Is(err, cluster.ErrChanged) }
