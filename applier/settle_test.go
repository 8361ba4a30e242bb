package applier

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"situ.gitops/applier/cluster"
	"situ.gitops/planner"
)

var commit = planner.Commit{ID: "c1"}

func TestSettleEndsWhenNothingIsLeft(t *testing.T) {
	for _, tt := range []struct {
		name string
		last planner.Plan
		want planner.State
	}{
		{"settled", web(planner.Settled), planner.Settled},
		{"held", web(planner.Held), planner.Held},
		{"failed", web(planner.Failed), planner.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake := newFakeCluster()
			fake.do = func(planner.Action) error { fake.change(); return nil }
			a := newApplier(fake, plans(web(planner.Progressing, step("patch")), tt.last))
			note, err := a.Settle(t.Context(), commit, ignore)
			if err != nil || note.State != tt.want || len(fake.done) != 1 {
				t.Errorf("Settle: state %q, %d actions, error %v; want %q, 1, none", note.State, len(fake.done), err, tt.want)
			}
		})
	}
}

func TestSettleWaitsForChangesAndNotForTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		time.AfterFunc(3*time.Hour, fake.change)
		a := newApplier(fake, plans(web(planner.Progressing), web(planner.Settled)))
		start := time.Now()
		if _, err := a.Settle(t.Context(), commit, ignore); err != nil {
			t.Fatal(err)
		}
		if len(fake.snapshots) != 2 || time.Since(start) != 3*time.Hour {
			t.Errorf("Settle: %d rounds in %s; want 2, the second right at the change after 3h", len(fake.snapshots), time.Since(start))
		}
	})
}

func TestChangesGatherForAtMost20Milliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var restless sync.WaitGroup
		restless.Go(func() { // the cluster does not come to rest
			for ctx.Err() == nil {
				fake.change()
				time.Sleep(time.Millisecond)
			}
		})
		defer restless.Wait()
		a := newApplier(fake, plans(web(planner.Progressing)))
		if _, err := a.Settle(ctx, commit, ignore); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Settle: error %v; want the deadline", err)
		}
		for i := range fake.snapshots[1:] {
			if gap := fake.snapshots[i+1].Sub(fake.snapshots[i]); gap != 20*time.Millisecond {
				t.Fatalf("round %d came %s after the one before; want 20ms", i+1, gap)
			}
		}
	})
}

func TestSettleWakesWhenThePlanSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		start := time.Now()
		waiting := web(planner.Progressing)
		waiting.Wake = start.Add(42 * time.Second)
		if _, err := newApplier(fake, plans(waiting, web(planner.Settled))).Settle(t.Context(), commit, ignore); err != nil {
			t.Fatal(err)
		}
		if since := time.Since(start); since != 42*time.Second {
			t.Errorf("Settle ended after %s; want 42s", since)
		}
	})
}

func TestAnOvertakenPlanIsDecidedAfresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		first := true
		fake.do = func(planner.Action) error {
			if first {
				first = false
				return cluster.ErrChanged
			}
			fake.change()
			return nil
		}
		acting := web(planner.Progressing, step("patch"))
		note, err := newApplier(fake, plans(acting, acting, web(planner.Settled))).Settle(t.Context(), commit, ignore)
		if err != nil || note.State != planner.Settled || len(note.Problems) > 0 {
			t.Errorf("Settle: state %q, problems %q, error %v; want settled without problems", note.State, note.Problems, err)
		}
	})
}

func TestWhatIsRefusedAgainAndAgainIsGivenUpAndTheRestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		tries := 0
		healthy := false
		fake.do = func(action planner.Action) error {
			defer fake.change()
			if action.Name == "good" {
				healthy = true
				return nil
			}
			tries++
			return errors.New("denied by a webhook")
		}
		decide := func(planner.Commit, planner.Snapshot) planner.Plan {
			plan := web(planner.Progressing, step("bad"))
			db := planner.WorkloadPlan{Ref: ref("StatefulSet", "db"), State: planner.Settled}
			if !healthy {
				db.State, db.Steps = planner.Progressing, []planner.Step{step("good")}
			}
			plan.Workloads = append(plan.Workloads, db)
			return plan
		}
		start := time.Now()
		note, err := newApplier(fake, decide).Settle(t.Context(), commit, ignore)
		if err != nil || note.State != planner.Failed {
			t.Fatalf("Settle: state %q, error %v; want failed", note.State, err)
		}
		if tries != maxTries || time.Since(start) < 10*time.Second || time.Since(start) > time.Minute {
			t.Errorf("the bad action was tried %d times in %s; want %d times with growing pauses", tries, time.Since(start), maxTries)
		}
		if !slices.ContainsFunc(note.Problems, func(p string) bool {
			return strings.Contains(p, "deployment/web in shop") && strings.Contains(p, "denied by a webhook")
		}) {
			t.Errorf("problems are %q; want the workload and the server's words", note.Problems)
		}
		if note.Workloads[1].State != planner.Settled {
			t.Errorf("the healthy workload is %q; want settled", note.Workloads[1].State)
		}
	})
}

func TestAClusterThatComesBackIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		failures := 3
		fake.snapshot = func() error {
			if failures--; failures >= 0 {
				return errors.New("connection refused")
			}
			return nil
		}
		note, err := newApplier(fake, plans(web(planner.Settled))).Settle(t.Context(), commit, ignore)
		if err != nil || note.State != planner.Settled {
			t.Errorf("Settle: state %q, error %v; want settled", note.State, err)
		}
	})
}

func TestAClusterThatStaysAwayIsAnErrorAfterBoundedTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		fake.snapshot = func() error { return errors.New("connection refused") }
		note, err := newApplier(fake, plans(web(planner.Settled))).Settle(t.Context(), commit, ignore)
		if err == nil || !strings.Contains(err.Error(), "connection refused") || note.State != "" || len(fake.snapshots) != maxTries {
			t.Errorf("Settle: state %q, %d tries, error %v; want none, %d, connection refused", note.State, len(fake.snapshots), err, maxTries)
		}
	})
}

func TestTheEndOfTheContextLetsActionsUnderWayFinishAndBeginsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		superseded := errors.New("superseded by c2")
		ctx, cancel := context.WithCancelCause(t.Context())
		fake.do = func(planner.Action) error {
			cancel(superseded)
			time.Sleep(time.Second)
			return nil
		}
		a := newApplier(fake, plans(web(planner.Progressing, numbered("patch", 40), step("unpause"))))
		_, err := a.Settle(ctx, commit, ignore)
		if !errors.Is(err, superseded) {
			t.Errorf("Settle: error %v; want the cause %v", err, superseded)
		}
		if fake.running != 0 || len(fake.done) == 0 || len(fake.done) > workers+1 {
			t.Errorf("%d actions are done and %d under way; want those that had begun, done", len(fake.done), fake.running)
		}
	})
}

func TestPatienceWithWhatOthersHaveToBringRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		start := time.Now()
		decide := func(planner.Commit, planner.Snapshot) planner.Plan {
			plan := web(planner.Waiting)
			plan.Wake = time.Now().Add(15 * time.Second)
			return plan
		}
		note, err := newApplier(fake, decide).Settle(t.Context(), commit, ignore)
		if err != nil || note.State != planner.Waiting || time.Since(start) != 2*time.Minute {
			t.Errorf("Settle: state %q after %s, error %v; want waiting after 2m", note.State, time.Since(start), err)
		}
	})
}

func TestWhatTheLastRoundMadeIsRemovedByOneWhoLeaves(t *testing.T) {
	for _, tt := range []struct {
		name   string
		leaves bool
		want   []string
	}{
		{"leaves", true, []string{"pull", "pulled"}},
		{"goes on", false, []string{"pull"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake := newFakeCluster()
			ctx, stop := context.WithCancel(t.Context())
			fake.do = func(action planner.Action) error {
				if action.Name == "pull" {
					stop()
				}
				return nil
			}
			after := web(planner.Progressing)
			after.Workloads[0].Cleanup = step("pulled")
			a := newApplier(fake, plans(web(planner.Progressing, step("pull")), after))
			a.Leaves = tt.leaves
			if _, err := a.Settle(ctx, commit, ignore); !errors.Is(err, context.Canceled) {
				t.Fatalf("Settle: %v, want that it was interrupted", err)
			}
			if !slices.Equal(fake.done, tt.want) {
				t.Errorf("Settle did %v, want %v", fake.done, tt.want)
			}
		})
	}
}
