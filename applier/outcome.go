package applier

import "situ.gitops/planner"

// Outcome is what one round planned and did.
type Outcome struct {
	Plan    planner.Plan
	Results []Result // one for each action of the plan, in the plan's order
	State   planner.State
}

// Status says what became of an action.
type Status string

// The ways an action may end.
const (
	Done    Status = "done"
	Changed Status = "changed since it was planned" // its object is not what the plan saw; the next round decides afresh
	Refused Status = "refused"                      // the server said no, or did not answer
	Left    Status = "left for the next round"      // an earlier step of its unit failed, or is put off
)

// Result is one action with what became of it.
type Result struct {
	Unit   planner.Ref // the workload or object that the action is a step of
	Action planner.Action
	Status Status
	Err    error // of Changed and Refused
}

// count says how many results have the status.
func (o Outcome) count(status Status) int {
	n := 0
	for _, result := range o.Results {
		if result.Status == status {
			n++
		}
	}
	return n
}
