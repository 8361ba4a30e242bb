package applier

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"situ.gitops/planner"
)

// sharing is a plan of two workloads that create the same object, and then go on.
func sharing() planner.Plan {
	var plan planner.Plan
	for _, name := range []string{"web", "db"} {
		create := planner.Action{Name: "pull", Mode: planner.CreateOnly, Ref: planner.Ref{Kind: "Pod", Name: "situ-pull-1"}}
		plan.Workloads = append(plan.Workloads, planner.WorkloadPlan{Ref: ref("Deployment", name), Steps: []planner.Step{{create}, step("patch-" + name)}})
	}
	return plan
}

func TestWhatTwoWorkloadsCreateIsCreatedOnceAndBothHaveTheAnswer(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Status
	}{
		{nil, Done},
		{errors.New("exceeded quota"), Refused},
	} {
		t.Run(string(tt.want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := newFakeCluster()
				fake.do = func(action planner.Action) error {
					if action.Name != "pull" {
						return nil
					}
					time.Sleep(time.Second)
					return tt.err
				}
				results := newApplier(fake, nil).carryOut(t.Context(), sharing(), newRetries())
				for _, result := range results {
					if result.Action.Name == "pull" && (result.Status != tt.want || result.Err != tt.err) {
						t.Errorf("%s: %s, %v; want %s", result.Unit, result.Status, result.Err, tt.want)
					}
				}
				pulls := 0
				for _, name := range fake.done {
					if name == "pull" {
						pulls++
					}
				}
				if pulls != 1 {
					t.Errorf("carryOut: the object was created %d times, want once", pulls)
				}
			})
		})
	}
}

func TestAWorkloadThatIsPutOffKeepsNoOtherFromWhatBothNeed(t *testing.T) {
	fake := newFakeCluster()
	putOff := newRetries()
	putOff.note([]Result{{Unit: ref("Deployment", "web"), Status: Refused, Err: fmt.Errorf("forbidden")}})
	newApplier(fake, nil).carryOut(t.Context(), sharing(), putOff)
	if fake.position("pull") < 0 || fake.position("patch-db") < 0 || fake.position("patch-web") >= 0 {
		t.Errorf("carryOut did %v; want the pull and the patch of db", fake.done)
	}
}
