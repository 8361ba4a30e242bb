// Package poller owns when something happens: when the remote is asked, when a
// commit is taken up, when a newer one takes over, when a note is written. What
// happens then is the applier's.
//
//	follow     asks for the head on schedule, also while a rollout runs
//	reconcile  settles one commit at a time, holds it against drift, and lets
//	           the next commit take over at any moment
//	record     writes notes, off the path of both
//
// Rounds of one source never overlap, since reconcile is one goroutine. A
// remote that cannot be reached changes nothing: the last good commit is held.
package poller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"situ.gitops/applier"
	"situ.gitops/planner"
)

// Settler brings the cluster to a commit; *applier.Applier is one.
type Settler interface {
	Settle(ctx context.Context, commit planner.Commit, progress func(applier.Outcome)) (applier.Note, error)
	Changes() <-chan struct{}
}

// Loop is one source, kept in sync with one cluster.
type Loop struct {
	Source   Source
	Settler  Settler
	Notes    Notes  // nil: none are written
	Cluster  string // the name under which notes are kept
	Schedule Schedule
	Log      logrus.FieldLogger
	Progress func(applier.Outcome) // after every round; nil: nobody watches

	watch watch
}

// How long to leave the cluster alone.
const (
	driftGap   = time.Second      // between two looks at a commit that has ended
	errorPause = 15 * time.Second // after the cluster could not be asked
)

// Once takes the head up, and returns when it has ended. A commit that was
// begun and could not be brought to an end has failed, and its note says why;
// an error means that nothing was tried.
func (l *Loop) Once(ctx context.Context) (applier.Note, error) {
	head, err := l.Source.Poll(ctx)
	if err != nil {
		return applier.Note{}, err
	}
	rev, err := l.Source.Read(ctx, head)
	if err != nil {
		return applier.Note{}, err
	}
	note, err := l.Settler.Settle(ctx, rev.Commit, l.progress)
	note = l.about(note, rev)
	if err != nil {
		if note.State == "" || errors.Is(ctx.Err(), context.Canceled) {
			return note, err
		}
		note.State = planner.Failed
		note.Problems = append(note.Problems, err.Error())
	}
	book := newRecorder(l.Notes, l.Log)
	book.add(note)
	book.close(ctx)
	return note, nil
}

// Run follows the source until ctx ends. It waits for what it started.
func (l *Loop) Run(ctx context.Context) {
	l.watch.begin(time.Now())
	book := newRecorder(l.Notes, l.Log)
	commits := make(chan Revision)
	var running sync.WaitGroup
	running.Go(func() { l.follow(ctx, commits) })
	running.Go(func() { book.run(ctx) })
	l.reconcile(ctx, commits, book)
	running.Wait()
	book.close(ctx)
}

// reconcile takes up one commit after the other.
func (l *Loop) reconcile(ctx context.Context, commits <-chan Revision, book *recorder) {
	var rev *Revision
	select {
	case first := <-commits:
		rev = &first
	case <-ctx.Done():
	}
	for rev != nil {
		rev = l.keep(ctx, *rev, commits, book)
	}
}

// keep brings the cluster to the commit and holds it there until a newer one
// comes, which it returns, or until ctx ends: nil.
func (l *Loop) keep(ctx context.Context, rev Revision, commits <-chan Revision, book *recorder) *Revision {
	l.watch.take(rev)
	l.Log.WithFields(logrus.Fields{"commit": rev.ID, "manifests": len(rev.Manifests), "problems": len(rev.Problems)}).Info("commit taken up")
	var last applier.Note // how it ended; the zero note: not yet
	for {
		note, newer, err := l.settle(ctx, rev, commits)
		switch {
		case err == nil:
			note = note.After(last)
			l.ended(note, last)
			book.add(note)
			last = note
		case newer == nil && ctx.Err() == nil:
			l.watch.end(note, err)
			l.Log.WithField("commit", rev.ID).WithError(err).Error("commit could not be brought to an end")
		}
		if newer == nil && ctx.Err() == nil {
			newer = l.rest(ctx, note, err, commits)
		}
		switch {
		case newer != nil:
			if told, is := superseded(last, note, newer.ID); is {
				book.add(told)
			}
			return newer
		case ctx.Err() != nil:
			return nil
		}
	}
}

// ended tells that a commit has come to an end, or to another one than last time.
func (l *Loop) ended(note, last applier.Note) {
	l.watch.end(note, nil)
	if note.Same(last) {
		return
	}
	l.Log.WithFields(logrus.Fields{"commit": note.Commit, "state": note.State, "workloads": len(note.Workloads), "problems": len(note.Problems)}).Info("reconciled")
}

// settle settles the commit, unless a newer one comes first.
func (l *Loop) settle(ctx context.Context, rev Revision, commits <-chan Revision) (note applier.Note, newer *Revision, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		note, err = l.Settler.Settle(ctx, rev.Commit, l.progress)
	}()
	select {
	case <-ended:
	case next := <-commits:
		newer = &next
		cancel(fmt.Errorf("superseded by %s", next.ID))
		<-ended
	}
	return l.about(note, rev), newer, err
}

// superseded is the note of a commit that a newer one took over from; last is
// how it had ended, now how far it was. A commit that had come to a good end
// has nothing to add: false.
func superseded(last, now applier.Note, by string) (applier.Note, bool) {
	note := last
	if last.State == "" {
		note = now
		note.State = applier.Superseded
	}
	note.SupersededBy = by
	return note, note.State != planner.Settled && note.State != planner.Held
}

// rest returns when there may be something to do for the commit again, or with
// the newer commit that came.
func (l *Loop) rest(ctx context.Context, note applier.Note, err error, commits <-chan Revision) *Revision {
	changes, pause := l.Settler.Changes(), driftGap
	var again <-chan time.Time
	switch {
	case err != nil:
		changes, pause, again = nil, 0, time.After(errorPause)
	case note.State == planner.Waiting || len(note.Problems) > 0:
		again = time.After(errorPause)
	}
	free := time.Now().Add(pause)
	select {
	case newer := <-commits:
		return &newer
	case <-ctx.Done():
		return nil
	case <-changes:
	case <-again:
	}
	select {
	case newer := <-commits:
		return &newer
	case <-ctx.Done():
	case <-time.After(time.Until(free)):
	}
	return nil
}

// progress shows a round to whoever watches.
func (l *Loop) progress(outcome applier.Outcome) {
	l.watch.plan(outcome.Plan)
	if l.Progress != nil {
		l.Progress(outcome)
	}
}

// about completes a note with where the commit comes from and where it went.
func (l *Loop) about(note applier.Note, rev Revision) applier.Note {
	note.Cluster, note.Path, note.Tree, note.RewrittenFrom = l.Cluster, rev.Path, rev.Tree, rev.RewrittenFrom
	return note
}
