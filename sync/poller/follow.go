package poller

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
)

// follow asks the source for its head, at once and then on schedule, and hands
// over every commit that it did not hand over last. An error is told once and
// then tried again at the next turn.
func (l *Loop) follow(ctx context.Context, commits chan<- Revision) {
	var seen, told string
	for {
		rev, err := l.look(ctx, seen)
		if ctx.Err() != nil {
			return
		}
		l.watch.looked(time.Now(), err)
		switch {
		case err != nil && err.Error() != told:
			told = err.Error()
			l.Log.WithError(err).Warn("source not available; the last good commit is kept")
		case err == nil && told != "":
			told = ""
			l.Log.Info("source available again")
		}
		if rev != nil {
			select {
			case commits <- *rev:
				seen = rev.ID
			case <-ctx.Done():
				return
			}
		}
		if !l.untilNext(ctx) {
			return
		}
	}
}

// look polls, and reads the commit if it is another one than seen.
func (l *Loop) look(ctx context.Context, seen string) (*Revision, error) {
	head, err := l.Source.Poll(ctx)
	if err != nil {
		return nil, err
	}
	l.watch.polled(time.Now())
	if head.Hash == seen {
		return nil, nil
	}
	if seen != "" {
		head.Previous = seen
	}
	rev, err := l.Source.Read(ctx, head)
	if err != nil {
		return nil, err
	}
	if rev.RewrittenFrom != "" {
		l.Log.WithFields(logrus.Fields{"commit": rev.ID, "from": rev.RewrittenFrom}).Warn("history was rewritten")
	}
	return &rev, nil
}

// untilNext waits for the schedule's next moment. It is false once ctx has ended.
func (l *Loop) untilNext(ctx context.Context) bool {
	next, comes := l.Schedule.next(time.Now(), 1)
	var due <-chan time.Time
	if comes {
		due = time.After(time.Until(next))
	}
	select {
	case <-due:
		return true
	case <-ctx.Done():
		return false
	}
}
