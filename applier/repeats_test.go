package applier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

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

func TestWhatDiffersEachTimeMakesNoOtherAction(t *testing.T) {
	pod := func(name, uid, at, container, image string) []planner.Step {
		state := fmt.Sprintf(`{"at":"2026-12-01T15:48:%sZ","restart":{"app":"containerd://%064s"}}`, at, container)
		body := map[string]any{"metadata": map[string]any{"uid": "5a358957-8b06-41fc-b94a-" + uid, "annotations": map[string]any{"situ.gitops/state": state}}, "image": image}
		return []planner.Step{{{Name: "patch", Ref: ref("Pod", name), UID: types.UID(uid), Body: body}}}
	}
	digest := func(digit string) string { return "app@sha256:" + strings.Repeat(digit, 64) }
	once := fingerprint(pod("web", "246b3d33cf40", "27.1", "1", digest("1")))
	if fingerprint(pod("web", "000000000001", "28", "2", digest("1"))) != once {
		t.Error("another moment, UID or container makes another action: a quarrel would not be noticed")
	}
	for name, other := range map[string][]planner.Step{
		"digest": pod("web", "246b3d33cf40", "27.1", "1", digest("2")), "pod": pod("api", "246b3d33cf40", "27.1", "1", digest("1")),
	} {
		if fingerprint(other) == once {
			t.Errorf("another %s makes no other action", name)
		}
	}
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
