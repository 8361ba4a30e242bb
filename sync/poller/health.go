package poller

import (
	"errors"
	"fmt"
	"time"
)

// Live is an error when the loop hangs: when it has not come back from the
// remote, with or without success, for three periods. Only a restart helps then.
func (l *Loop) Live() error {
	if turn := l.watch.lastTurn(); l.stale(turn) {
		return fmt.Errorf("the poll has not come back since %s", turn.UTC().Format(time.RFC3339))
	}
	return nil
}

// Health is an error when no poll has succeeded for three periods. The last good
// commit is kept and drift repaired meanwhile, which a restart would put an end to.
func (l *Loop) Health() error {
	good, err := l.watch.lastGood()
	if !l.stale(good) {
		return nil
	}
	if err == nil {
		err = errors.New("the poll has not come back")
	}
	return fmt.Errorf("no poll has succeeded since %s: %w", good.UTC().Format(time.RFC3339), err)
}

// stale says whether three periods of the schedule, and a moment, have passed.
func (l *Loop) stale(since time.Time) bool {
	end, comes := l.Schedule.next(since, 3)
	return comes && time.Now().After(end.Add(10*time.Second))
}

// Ready is an error until a commit has been read and looked at once.
func (l *Loop) Ready() error {
	if status := l.Status(); status.Plan == nil {
		if status.PollError != "" {
			return errors.New(status.PollError)
		}
		return errors.New("no commit has been read yet")
	}
	return nil
}

// Status is what the loop is at.
func (l *Loop) Status() Status { return l.watch.status() }
