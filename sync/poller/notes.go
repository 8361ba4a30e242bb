package poller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"situ.gitops/applier"
	"situ.gitops/sync/gitrepo"
)

// Notes stores the note of a commit: what merge makes of the one that is there
// already, nil if there is none. *gitrepo.Repo is one.
type Notes interface {
	WriteNote(ctx context.Context, commit string, merge func(current []byte) []byte) error
}

// How long notes that could not be written are kept back.
const (
	firstNoteDelay   = time.Minute
	longestNoteDelay = time.Hour
	closingTime      = 15 * time.Second
	maxPending       = 100 // commits
)

// recorder writes notes in the order of their commits. A remote that takes none
// is told about once; nothing waits for it.
type recorder struct {
	notes Notes
	log   logrus.FieldLogger
	ring  chan struct{}

	mu      sync.Mutex
	pending []applier.Note
	known   applier.Note // the last one that was written or found

	failures int // in a row; only the writing goroutine's
}

func newRecorder(notes Notes, log logrus.FieldLogger) *recorder {
	return &recorder{notes: notes, log: log, ring: make(chan struct{}, 1)}
}

// add takes a note for writing and returns at once. A note that says nothing
// new about its commit is left alone.
func (r *recorder) add(note applier.Note) {
	if r.notes == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := func(other applier.Note) bool { return other.Commit == note.Commit }
	if i := slices.IndexFunc(r.pending, mine); i >= 0 {
		r.pending[i] = note.After(r.pending[i])
		return
	}
	if mine(r.known) && note.After(r.known).Same(r.known) {
		return
	}
	if len(r.pending) == maxPending {
		r.pending = r.pending[1:]
	}
	r.pending = append(r.pending, note)
	select {
	case r.ring <- struct{}{}:
	default:
	}
}

// run writes what was added, until ctx ends.
func (r *recorder) run(ctx context.Context) {
	for {
		ring := r.ring
		var again <-chan time.Time
		if r.failures > 0 {
			ring, again = nil, time.After(noteDelay(r.failures))
		}
		select {
		case <-ring:
		case <-again:
		case <-ctx.Done():
			return
		}
		r.flush(ctx)
	}
}

// close writes what is left, even if ctx has ended, but not for long.
func (r *recorder) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	r.flush(ctx)
}

// flush writes until nothing is left or the remote refuses.
func (r *recorder) flush(ctx context.Context) {
	for {
		r.mu.Lock()
		if len(r.pending) == 0 {
			r.mu.Unlock()
			return
		}
		note := r.pending[0]
		r.mu.Unlock()
		written, err := r.write(ctx, note)
		if err != nil {
			r.refused(ctx, err)
			return
		}
		if r.failures > 0 {
			r.failures = 0
			r.log.Info("notes can be written again")
		}
		r.mu.Lock()
		r.known = written
		r.pending = slices.DeleteFunc(r.pending, func(other applier.Note) bool {
			return other.Commit == note.Commit && note.After(other).Same(other)
		})
		r.mu.Unlock()
	}
}

// write stores one note, and returns what then stands in the repository.
func (r *recorder) write(ctx context.Context, note applier.Note) (applier.Note, error) {
	var stands applier.Note
	var failure error
	err := r.notes.WriteNote(ctx, note.Commit, func(current []byte) []byte {
		stands, failure = note, nil
		if earlier, err := applier.ParseNote(current); err == nil && len(current) > 0 {
			stands = note.After(earlier)
			if stands.Same(earlier) {
				stands = earlier
				return current
			}
		}
		text, err := stands.Encode()
		if err != nil {
			failure = err
			return current
		}
		return text
	})
	return stands, errors.Join(err, failure)
}

// refused tells about a remote that takes no notes: once, until it takes one again.
func (r *recorder) refused(ctx context.Context, err error) {
	if ctx.Err() != nil && r.failures > 0 {
		return
	}
	r.failures++
	log := r.log.WithError(err)
	if r.failures > 1 {
		log.Debug("note not written")
		return
	}
	if errors.Is(err, gitrepo.ErrReadOnly) {
		log.Warn("notes cannot be written; syncing goes on without them")
		return
	}
	log.Warn("note not written; it will be tried again")
}

func noteDelay(failures int) time.Duration {
	delay := firstNoteDelay
	for range failures - 1 {
		if delay *= 2; delay >= longestNoteDelay {
			return longestNoteDelay
		}
	}
	return delay
}
