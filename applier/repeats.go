package applier

import (
	"encoding/json"
	"hash/fnv"
	"regexp"
	"slices"
	"time"

	"situ.gitops/planner"
)

// When somebody else undoes what we do, the same actions are planned again and
// again. The first few repetitions are a repair; more are a quarrel, and a
// quarrel is slowed down.
const (
	freeRepeats = 3
	quarrelTime = 5 * time.Minute // of peace, after which all is forgotten
)

// repeats remembers what each unit did last. It outlives a Settle, since every
// repair of drift is a Settle of its own. The zero value is ready; one goroutine
// at a time may use it.
type repeats struct{ units map[planner.Ref]repeat }

type repeat struct {
	actions uint64 // what was done
	times   int    // in a row
	last    time.Time
}

// putOff says whether the unit is about to repeat itself too soon.
func (r *repeats) putOff(u *unit) bool {
	before, found := r.units[u.ref]
	return found && time.Now().Before(before.due()) && before.actions == fingerprint(u.steps)
}

// due is when the same may be done once more.
func (r repeat) due() time.Time {
	if r.times < freeRepeats {
		return r.last
	}
	return r.last.Add(backoff(r.times-freeRepeats+1, time.Second))
}

// note remembers that the unit was carried out.
func (r *repeats) note(u *unit) {
	if !slices.ContainsFunc(u.results, func(result Result) bool { return result.Status == Done }) {
		return
	}
	if r.units == nil {
		r.units = map[planner.Ref]repeat{}
	}
	now := repeat{actions: fingerprint(u.steps), times: 1, last: time.Now()}
	if before := r.units[u.ref]; before.actions == now.actions && now.last.Sub(before.last) < quarrelTime {
		now.times += before.times
	}
	r.units[u.ref] = now
}

// next is when the first of the units with steps that are put off is due; zero: none is.
func (r *repeats) next(plan planner.Plan) time.Time {
	var next time.Time
	for _, wave := range wavesOf(plan) {
		for _, u := range wave {
			if r.putOff(u) {
				next = earliest(next, r.units[u.ref].due())
			}
		}
	}
	return next
}

// momentary is what differs each time that the same is done: moments, UIDs and
// the ids of containers. The digest of an image stays.
var momentary = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|://[0-9a-f]{64}`)

// fingerprint tells actions apart by what they do and to whom. The generation
// and the UID are left out: in a quarrel they are others with every round.
func fingerprint(steps []planner.Step) uint64 {
	hash := fnv.New64a()
	for _, step := range steps {
		for _, action := range step {
			text, _ := json.Marshal([]any{action.Name, action.Mode, action.Ref, action.Body}) // plain values
			hash.Write(momentary.ReplaceAll(text, nil))
		}
	}
	return hash.Sum64()
}
