package poller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"situ.gitops/applier"
	"situ.gitops/planner"
	"situ.gitops/sync/gitrepo"
)

func TestAReadOnlyRemoteIsToldOnceAndSyncGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.notes.set(fmt.Errorf("write notes: %w", gitrepo.ErrReadOnly))
		w.run(t)
		time.Sleep(3*time.Hour + time.Second)
		w.source.set("B", nil)
		time.Sleep(time.Minute)
		if w.settler.taken()[w.settler.calls()-1] != "B" {
			t.Error("the sync did not go on")
		}
		if attempts, _ := w.notes.count(); attempts > 9 || w.warnings() != 1 {
			t.Errorf("%d attempts and %d warnings in three hours; want at most 9 with growing pauses, 1", attempts, w.warnings())
		}
		w.notes.set(nil)
		time.Sleep(time.Hour)
		for _, commit := range []string{"A", "B"} {
			if note := w.notes.note(t, commit); note.State != planner.Settled {
				t.Errorf("note of %s once the remote takes them: %q; want settled", commit, note.State)
			}
		}
	})
}

func TestANoteThatIsThereAlreadyIsNotWrittenAgain(t *testing.T) {
	w := newWorld(t)
	if _, err := w.loop.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := newWorld(t) // another process
	again.loop.Notes = w.notes
	again.settler.settle = func(context.Context, string) (applier.Note, error) {
		return applier.Note{State: planner.Settled, Started: time.Now(), Finished: time.Now()}, nil
	}
	if _, err := again.loop.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, writes := w.notes.count(); writes != 1 {
		t.Errorf("two runs of one settled commit wrote %d notes; want 1", writes)
	}
}

func TestTheLastNoteIsWrittenAlsoWhenTheProcessIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.settler.settle = func(context.Context, string) (applier.Note, error) {
			cancel() // the signal comes at the very end
			return applier.Note{State: planner.Settled}, nil
		}
		w.loop.Run(ctx)
		if note := w.notes.note(t, "A"); note.State != planner.Settled {
			t.Errorf("note of A: %q; want settled", note.State)
		}
	})
}

func TestNothingOfAnInterruptedCommitIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.settler.settle = func(ctx context.Context, _ string) (applier.Note, error) {
			cancel()
			<-ctx.Done()
			return applier.Note{State: planner.Progressing}, context.Cause(ctx)
		}
		w.loop.Run(ctx)
		if attempts, _ := w.notes.count(); attempts != 0 {
			t.Errorf("%d notes; want none: the next start goes on with the commit", attempts)
		}
		if _, err := w.loop.Once(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Once: %v; want the interrupt", err)
		}
	})
}
