package applier

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"situ.gitops/planner"
)

// unit is what succeeds or fails on its own: one workload or one object with
// its steps, and the place of their results.
type unit struct {
	ref     planner.Ref
	steps   []planner.Step
	results []Result
}

// carryOut performs the plan's actions: the objects wave by wave, then the
// workloads side by side; the steps of each in their order, the actions of a
// step at the same time. It returns when every action has its result.
func (a *Applier) carryOut(ctx context.Context, plan planner.Plan, retries *retries) []Result {
	waves := wavesOf(plan)
	seats, created := make(chan struct{}, workers), newCreations()
	var all []Result
	for _, wave := range waves {
		var running sync.WaitGroup
		for _, u := range wave {
			if retries.putOff(u.ref) || a.repeats.putOff(u) {
				continue
			}
			running.Go(func() { a.carryUnit(ctx, u, seats, created) })
		}
		running.Wait()
		for _, u := range wave {
			a.repeats.note(u)
			all = append(all, u.results...)
		}
	}
	return all
}

// wavesOf groups what a plan wants now: objects by their wave, workloads last.
// Units without steps do not appear.
func wavesOf(plan planner.Plan) [][]*unit {
	objects := slices.Clone(plan.Objects)
	slices.SortStableFunc(objects, func(a, b planner.ObjectPlan) int { return cmp.Compare(a.Wave, b.Wave) })
	var waves [][]*unit
	last := 0
	for _, object := range objects {
		if len(object.Steps) == 0 {
			continue
		}
		if len(waves) == 0 || object.Wave != last {
			waves = append(waves, nil)
			last = object.Wave
		}
		waves[len(waves)-1] = append(waves[len(waves)-1], newUnit(object.Ref, object.Steps))
	}
	var workloads []*unit
	for _, workload := range plan.Workloads {
		if len(workload.Steps) > 0 {
			workloads = append(workloads, newUnit(workload.Ref, workload.Steps))
		}
	}
	if len(workloads) > 0 {
		waves = append(waves, workloads)
	}
	return waves
}

func newUnit(ref planner.Ref, steps []planner.Step) *unit {
	u := &unit{ref: ref, steps: steps}
	for _, step := range steps {
		for _, action := range step {
			u.results = append(u.results, Result{Unit: ref, Action: action, Status: Left})
		}
	}
	return u
}

// carryUnit performs the unit's steps one after the other. After a step of
// which an action did not succeed, the rest is left for the next round.
func (a *Applier) carryUnit(ctx context.Context, u *unit, seats chan struct{}, created *creations) {
	rest := u.results
	for _, step := range u.steps {
		results := rest[:len(step)]
		rest = rest[len(step):]
		var running sync.WaitGroup
		for i := range results {
			if !takeSeat(ctx, seats) {
				break
			}
			running.Go(func() {
				defer func() { <-seats }()
				a.carryAction(ctx, &results[i], created)
			})
		}
		running.Wait()
		if slices.ContainsFunc(results, func(r Result) bool { return r.Status != Done }) {
			return
		}
	}
}

// takeSeat waits for one of the workers. It is false once ctx has ended: what
// is under way is finished, and nothing new is begun.
func takeSeat(ctx context.Context, seats chan<- struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case seats <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// carryAction performs one action. An action that has begun is not cut off by
// the end of ctx, so that nobody has to guess whether it happened.
func (a *Applier) carryAction(ctx context.Context, result *Result, created *creations) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actionTimeout)
	defer cancel()
	a.Log.WithFields(logrus.Fields{"action": result.Action.Name, "object": result.Action.Ref.String(), "text": result.Action.Text}).Debug("action")
	err := created.do(result.Action, func() error {
		turn := a.Fault.before(result.Action.Name)
		defer a.Fault.after(turn)
		return a.Cluster.Do(ctx, result.Action)
	})
	switch {
	case err == nil:
		result.Status = Done
	case changed(err):
		result.Status, result.Err = Changed, err
	default:
		result.Status, result.Err = Refused, err
	}
}
