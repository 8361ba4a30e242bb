package applier

import (
	"time"

	"situ.gitops/planner"
)

// How often and when something that went wrong is tried again.
const (
	maxTries    = 6
	firstDelay  = 500 * time.Millisecond
	longestWait = 15 * time.Second
)

// backoff is the wait after the n-th failure in a row, n from 1.
func backoff(n int, first time.Duration) time.Duration {
	delay := first
	for range n - 1 {
		delay *= 2
		if delay >= longestWait {
			return longestWait
		}
	}
	return delay
}

// retries remembers, for the units whose actions were refused, how often that
// was and when they are due again. Others are not slowed down by them. It lives
// as long as one Settle.
type retries struct {
	units map[planner.Ref]*retry
}

type retry struct {
	failures int
	due      time.Time
	err      error
}

func newRetries() *retries { return &retries{units: map[planner.Ref]*retry{}} }

// putOff says whether the unit has to wait, or was given up.
func (r *retries) putOff(ref planner.Ref) bool {
	unit, found := r.units[ref]
	return found && (unit.failures >= maxTries || time.Now().Before(unit.due))
}

// note takes the results of a round in.
func (r *retries) note(results []Result) {
	refused := map[planner.Ref]error{}
	for _, result := range results {
		switch result.Status {
		case Refused:
			refused[result.Unit] = result.Err
		case Done, Changed:
			if _, found := refused[result.Unit]; !found {
				refused[result.Unit] = nil
			}
		}
	}
	for ref, err := range refused {
		if err == nil {
			delete(r.units, ref)
			continue
		}
		unit := r.units[ref]
		if unit == nil {
			unit = &retry{}
			r.units[ref] = unit
		}
		unit.failures++
		unit.err = err
		unit.due = time.Now().Add(backoff(unit.failures, firstDelay))
	}
}

// givenUp returns the unit's last error once it was tried often enough, else nil.
func (r *retries) givenUp(ref planner.Ref) error {
	if unit, found := r.units[ref]; found && unit.failures >= maxTries {
		return unit.err
	}
	return nil
}

// next is when the first of the units that still have something to do is due; zero: none is.
func (r *retries) next(plan planner.Plan) time.Time {
	var next time.Time
	for _, part := range partsOf(plan) {
		if unit, found := r.units[part.ref]; found && part.steps > 0 && unit.failures < maxTries {
			next = earliest(next, unit.due)
		}
	}
	return next
}

// earliest is the earlier of two moments, where zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
