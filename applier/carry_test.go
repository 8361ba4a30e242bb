package applier

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"situ.gitops/applier/cluster"
	"situ.gitops/planner"
)

func TestCarryOutKeepsThePlansOrder(t *testing.T) {
	fake := newFakeCluster()
	plan := planner.Plan{
		Objects: []planner.ObjectPlan{
			{Ref: ref("ConfigMap", "late"), Wave: 2, Steps: []planner.Step{step("config")}},
			{Ref: ref("Namespace", "shop"), Wave: 0, Steps: []planner.Step{step("namespace")}},
			{Ref: ref("CustomResourceDefinition", "x"), Wave: 1, Steps: []planner.Step{step("crd")}},
		},
		Workloads: []planner.WorkloadPlan{
			{Ref: ref("Deployment", "web"), Steps: []planner.Step{step("pause"), step("patch-a", "patch-b"), step("unpause")}},
			{Ref: ref("StatefulSet", "db"), Steps: []planner.Step{step("template"), step("partition")}},
		},
	}
	newApplier(fake, nil).carryOut(t.Context(), plan, newRetries())
	for _, order := range [][2]string{
		{"namespace", "crd"}, {"crd", "config"}, {"config", "pause"}, {"config", "template"},
		{"pause", "patch-a"}, {"pause", "patch-b"}, {"patch-a", "unpause"}, {"patch-b", "unpause"}, {"template", "partition"},
	} {
		first, second := fake.position(order[0]), fake.position(order[1])
		if first < 0 || second < 0 || first > second {
			t.Errorf("carryOut: %s was number %d and %s number %d; want that order", order[0], first, order[1], second)
		}
	}
}

func TestResultsStandInThePlansOrderWhateverEndsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		fake.do = func(action planner.Action) error {
			if action.Name == "patch-0" {
				time.Sleep(time.Second)
			}
			return nil
		}
		results := newApplier(fake, nil).carryOut(t.Context(), web(planner.Progressing, numbered("patch", 5)), newRetries())
		for i, result := range results {
			if want := fmt.Sprintf("patch-%d", i); result.Action.Name != want || result.Status != Done {
				t.Errorf("result %d is %s, %s; want %s, done", i, result.Action.Name, result.Status, want)
			}
		}
	})
}

func TestAtMost16ActionsAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster()
		fake.do = func(planner.Action) error {
			time.Sleep(time.Millisecond)
			return nil
		}
		plan := web(planner.Progressing, numbered("web", 100))
		plan.Workloads = append(plan.Workloads, planner.WorkloadPlan{Ref: ref("StatefulSet", "db"), Steps: []planner.Step{numbered("db", 100)}})
		newApplier(fake, nil).carryOut(t.Context(), plan, newRetries())
		if fake.most != workers || len(fake.done) != 200 {
			t.Errorf("carryOut: %d of 200 actions, at most %d at once; want 200, 16", len(fake.done), fake.most)
		}
	})
}

func TestAFailedActionHoldsBackItsOwnWorkloadOnly(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want Status
	}{
		{"refused", errors.New("forbidden"), Refused},
		{"overtaken", fmt.Errorf("patch pod/web-1: %w", cluster.ErrChanged), Changed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake := newFakeCluster()
			fake.do = func(action planner.Action) error {
				if action.Name == "bad" {
					return tt.err
				}
				return nil
			}
			plan := web(planner.Progressing, step("bad", "beside"), step("behind"))
			plan.Workloads = append(plan.Workloads, planner.WorkloadPlan{Ref: ref("StatefulSet", "db"), Steps: []planner.Step{step("db-1"), step("db-2")}})
			got := map[string]Status{}
			for _, result := range newApplier(fake, nil).carryOut(t.Context(), plan, newRetries()) {
				got[result.Action.Name] = result.Status
			}
			for name, want := range map[string]Status{"bad": tt.want, "beside": Done, "behind": Left, "db-1": Done, "db-2": Done} {
				if got[name] != want {
					t.Errorf("action %s is %q; want %q", name, got[name], want)
				}
			}
			if fake.position("behind") >= 0 {
				t.Error("the step behind a failed one was carried out")
			}
		})
	}
}
