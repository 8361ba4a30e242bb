package applier

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"situ.gitops/planner"
)

// fakeCluster records what is done to it. Everything succeeds unless do says otherwise.
type fakeCluster struct {
	do       func(planner.Action) error // called without the lock
	snapshot func() error
	changes  chan struct{}

	mu        sync.Mutex
	done      []string // names of actions, in the order of their ends
	running   int
	most      int
	snapshots []time.Time
}

func newFakeCluster() *fakeCluster { return &fakeCluster{changes: make(chan struct{}, 1)} }

func (f *fakeCluster) Resolve(_ context.Context, commit planner.Commit) (planner.Commit, error) {
	return commit, nil
}

func (f *fakeCluster) Snapshot(context.Context, planner.Commit) (planner.Snapshot, error) {
	f.mu.Lock()
	f.snapshots = append(f.snapshots, time.Now())
	f.mu.Unlock()
	if f.snapshot != nil {
		return planner.Snapshot{}, f.snapshot()
	}
	return planner.Snapshot{}, nil
}

func (f *fakeCluster) Do(_ context.Context, action planner.Action) error {
	f.mu.Lock()
	f.running++
	f.most = max(f.most, f.running)
	f.mu.Unlock()
	var err error
	if f.do != nil {
		err = f.do(action)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	f.done = append(f.done, action.Name)
	return err
}

func (f *fakeCluster) Changes() <-chan struct{} { return f.changes }

func (f *fakeCluster) change() {
	select {
	case f.changes <- struct{}{}:
	default:
	}
}

// position is when the action of that name ended, -1 if it never did.
func (f *fakeCluster) position(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Index(f.done, name)
}

// plans is a planner that gives these plans one after the other, and the last
// one for ever.
func plans(all ...planner.Plan) func(planner.Commit, planner.Snapshot) planner.Plan {
	n := 0
	return func(planner.Commit, planner.Snapshot) planner.Plan {
		plan := all[min(n, len(all)-1)]
		n++
		return plan
	}
}

func newApplier(cluster Cluster, decide func(planner.Commit, planner.Snapshot) planner.Plan) *Applier {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return &Applier{Cluster: cluster, Log: log, Decide: decide}
}

func ref(kind, name string) planner.Ref {
	return planner.Ref{APIVersion: "apps/v1", Kind: kind, Namespace: "shop", Name: name}
}

// step is a step of actions with these names.
func step(names ...string) planner.Step {
	var actions planner.Step
	for _, name := range names {
		actions = append(actions, planner.Action{Name: name})
	}
	return actions
}

// numbered is a step of n actions.
func numbered(name string, n int) planner.Step {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", name, i))
	}
	return step(names...)
}

// web is a plan with one workload.
func web(state planner.State, steps ...planner.Step) planner.Plan {
	return planner.Plan{Commit: "c1", State: state, Workloads: []planner.WorkloadPlan{{Ref: ref("Deployment", "web"), State: state, Steps: steps}}}
}

func ignore(Outcome) {}
