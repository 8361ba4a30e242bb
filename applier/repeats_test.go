package applier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"situ.gitops/planner"
)

// applying is a plan with one step, on a generation that grows as in a quarrel.
func applying(body string, generation int64) planner.Plan {
	return web(planner.Progressing, planner.Step{{Name: "apply", Ref: ref("Deployment", "web"), Generation: generation, Body: map[string]any{"image": body}}})
}

func TestAQuarrelWithAnotherControllerIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		fake.do = func(planner.Action) error {
			time.AfterFunc(10*time.Millisecond, fake.change) // the other one undoes it
			return nil
		}
		generation := int64(0)
		a := newApplier(fake, func(planner.Commit, planner.Snapshot) planner.Plan {
			generation++
			return applying("a:1", generation)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if _, err := a.Settle(ctx, commit, ignore); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if len(fake.done) < 10 || len(fake.done) > 60 {
			t.Errorf("%d writes in ten minutes; want a handful a minute", len(fake.done))
		}
	})
}

func TestDifferentActionsAreNoQuarrel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		fake.do = func(planner.Action) error { fake.change(); return nil }
		var all []planner.Plan
		for i := range 50 {
			all = append(all, applying([]string{"a:1", "a:2"}[i%2], 0))
		}
		start := time.Now()
		if _, err := newApplier(fake, plans(append(all, web(planner.Settled))...)).Settle(t.Context(), commit, ignore); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); len(fake.done) != 50 || took > 2*time.Second {
			t.Errorf("%d actions in %s; want 50 at full pace", len(fake.done), took)
		}
	})
}

func TestTheRepairOfDriftIsNotSlowAfterPeace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		fake.do = func(planner.Action) error { fake.change(); return nil }
		a := newApplier(fake, nil)
		for range 10 {
			a.Decide = plans(applying("a:1", 0), web(planner.Settled))
			start := time.Now()
			if _, err := a.Settle(t.Context(), commit, ignore); err != nil || time.Since(start) > time.Second {
				t.Fatalf("Settle took %s, error %v; want a repair at once", time.Since(start), err)
			}
			time.Sleep(quarrelTime)
		}
	})
}
