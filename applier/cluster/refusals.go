package cluster

import (
	"maps"
	"sync"
	"time"

	"situ.gitops/planner"
)

// refusals are the objects that the server would not let us create, in its words.
// It may think better of it without an event, so a refusal is remembered for as
// long as that of a proof, and then tried again.
type refusals struct {
	mu    sync.Mutex
	known map[planner.Ref]refusal
}

type refusal struct {
	text  string
	until time.Time
}

func newRefusals() *refusals { return &refusals{known: map[planner.Ref]refusal{}} }

// note takes the server's answer to an action in.
func (r *refusals) note(action planner.Action, err error) {
	if action.Mode != planner.CreateOnly || action.DryRun {
		return
	}
	if verdict := verdictOn(err); verdict != refused && verdict != missing {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[action.Ref] = refusal{text: clean(err, action.Ref, action.Body), until: time.Now().Add(refusalHolds)}
}

// holding are those that hold at a moment; the others are forgotten.
func (r *refusals) holding(now time.Time) map[planner.Ref]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(_ planner.Ref, one refusal) bool { return !now.Before(one.until) })
	texts := make(map[planner.Ref]string, len(r.known))
	for ref, one := range r.known {
		texts[ref] = one.text
	}
	return texts
}
