package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"situ.gitops/applier"
	"situ.gitops/planner"
	"situ.gitops/sync/gitrepo"
)

func TestOnceNotesEveryEnding(t *testing.T) {
	for _, tt := range []struct {
		name string
		note applier.Note
		err  error
		want planner.State
	}{
		{"settled", applier.Note{State: planner.Settled}, nil, planner.Settled},
		{"held", applier.Note{State: planner.Held}, nil, planner.Held},
		{"failed", applier.Note{State: planner.Failed}, nil, planner.Failed},
		{"the cluster went away half-way", applier.Note{State: planner.Progressing}, errAway, planner.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settler.settle = func(context.Context, string) (applier.Note, error) { return tt.note, tt.err }
			note, err := w.loop.Once(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stored := w.notes.note(t, "A")
			if note.State != tt.want || stored.State != tt.want || stored.Cluster != "prod" || stored.Tree != "tree of A" || stored.Path != "deploy" {
				t.Errorf("Once: state %q, stored %+v; want %q with cluster, path and tree", note.State, stored, tt.want)
			}
			if tt.err != nil && !slices.Contains(stored.Problems, tt.err.Error()) {
				t.Errorf("problems are %q; want the cause", stored.Problems)
			}
		})
	}
}

func TestOnceThatTriedNothingIsAnErrorWithoutANote(t *testing.T) {
	for name, arrange := range map[string]func(world){
		"remote away": func(w world) { w.source.set("", errAway) },
		"cluster away": func(w world) {
			w.settler.settle = func(context.Context, string) (applier.Note, error) { return applier.Note{}, errAway }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			arrange(w)
			if _, err := w.loop.Once(t.Context()); !errors.Is(err, errAway) {
				t.Errorf("Once: error %v; want %v", err, errAway)
			}
			if len(w.notes.stored) > 0 {
				t.Errorf("notes %s; want none", w.notes.stored)
			}
		})
	}
}

func TestANewerCommitTakesOverAtAnyMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.settler.settle = func(ctx context.Context, commit string) (applier.Note, error) {
			if commit == "A" { // never comes to an end by itself
				<-ctx.Done()
				time.Sleep(time.Second) // the actions under way
				return applier.Note{State: planner.Progressing}, context.Cause(ctx)
			}
			return applier.Note{State: planner.Settled}, nil
		}
		w.run(t)
		time.Sleep(30 * time.Second)
		w.source.set("B", nil)
		time.Sleep(time.Minute)
		if got := w.settler.taken(); !slices.Equal(got, []string{"A", "B"}) {
			t.Fatalf("commits taken up: %v; want A, then B within one period", got)
		}
		if a := w.notes.note(t, "A"); a.State != applier.Superseded || a.SupersededBy != "B" {
			t.Errorf("note of A: state %q by %q; want superseded by B", a.State, a.SupersededBy)
		}
		if b := w.notes.note(t, "B"); b.State != planner.Settled {
			t.Errorf("note of B: state %q; want settled", b.State)
		}
	})
}

func TestWhatACommitEndedAsOutlivesTheNextCommit(t *testing.T) {
	for _, tt := range []struct {
		state planner.State
		by    string
	}{
		{planner.Settled, ""}, {planner.Held, ""}, {planner.Failed, "B"},
	} {
		t.Run(string(tt.state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.settler.settle = func(context.Context, string) (applier.Note, error) { return applier.Note{State: tt.state}, nil }
				w.run(t)
				time.Sleep(time.Second)
				w.source.set("B", nil)
				time.Sleep(2 * time.Minute)
				if a := w.notes.note(t, "A"); a.State != tt.state || a.SupersededBy != tt.by {
					t.Errorf("note of A: state %q, superseded by %q; want %q, %q", a.State, a.SupersededBy, tt.state, tt.by)
				}
			})
		})
	}
}

func TestAnUnreachableRemoteKeepsTheLastGoodCommit(t *testing.T) {
	for name, err := range map[string]error{"away": errAway, "branch gone": fmt.Errorf("poll: %w", gitrepo.ErrHeadUnknown)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.run(t)
				time.Sleep(time.Second)
				w.source.set("", err)
				time.Sleep(10 * time.Minute)
				before := w.settler.calls()
				w.settler.changes <- struct{}{} // something drifts
				time.Sleep(5 * time.Second)
				if w.settler.calls() != before+1 || w.settler.taken()[before] != "A" {
					t.Errorf("commits taken up: %v; want A once more", w.settler.taken())
				}
				if w.warnings() != 1 {
					t.Errorf("%d warnings in ten minutes; want 1", w.warnings())
				}
				w.source.set("B", nil)
				time.Sleep(time.Minute)
				if last := w.settler.taken()[w.settler.calls()-1]; last != "B" {
					t.Errorf("after the remote came back, %s is kept; want B", last)
				}
			})
		})
	}
}

func TestASettledSourceIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		time.Sleep(24 * time.Hour)
		attempts, writes := w.notes.count()
		polls, reads := w.source.count()
		if w.settler.calls() != 1 || reads != 1 || attempts != 1 || writes != 1 || polls < 24*60 {
			t.Errorf("in a day: %d settles, %d reads, %d of %d notes written, %d polls; want one of each, and a poll a minute",
				w.settler.calls(), reads, writes, attempts, polls)
		}
	})
}

func TestDriftIsRepairedAndNotedOnlyIfItSaysSomethingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		time.Sleep(time.Minute)
		for range 10 {
			w.settler.changes <- struct{}{}
			time.Sleep(time.Minute)
		}
		if attempts, _ := w.notes.count(); w.settler.calls() != 11 || attempts != 1 {
			t.Errorf("%d settles, %d notes; want 11, 1", w.settler.calls(), attempts)
		}
	})
}

func TestARestlessClusterDoesNotKeepARestingCommitBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		for range 1000 {
			select {
			case w.settler.changes <- struct{}{}:
			default:
			}
			time.Sleep(10 * time.Millisecond)
		}
		if calls := w.settler.calls(); calls > 12 {
			t.Errorf("%d settles in 10s; want about one a second", calls)
		}
	})
}

func TestAClusterThatIsAwayIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		failures := 3
		w.settler.settle = func(context.Context, string) (applier.Note, error) {
			if failures--; failures >= 0 {
				return applier.Note{}, errAway
			}
			return applier.Note{State: planner.Settled}, nil
		}
		w.run(t)
		time.Sleep(30 * time.Second)
		if status := w.loop.Status(); !strings.Contains(status.Error, errAway.Error()) {
			t.Errorf("status tells %q; want %v", status.Error, errAway)
		}
		time.Sleep(time.Minute)
		if note := w.notes.note(t, "A"); note.State != planner.Settled || w.loop.Status().Error != "" {
			t.Errorf("note is %q, status error %q; want settled, none", note.State, w.loop.Status().Error)
		}
	})
}

func TestHealthGoesStaleAfterThreePeriodsWithoutAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		time.Sleep(10*time.Minute + time.Second) // between two polls
		w.source.set("", errAway)
		time.Sleep(2 * time.Minute)
		if err := w.loop.Health(); err != nil {
			t.Errorf("after two periods: %v; want healthy", err)
		}
		time.Sleep(2 * time.Minute)
		if err := w.loop.Health(); !errors.Is(err, errAway) {
			t.Errorf("after four periods: %v; want %v", err, errAway)
		}
		if err := w.loop.Live(); err != nil {
			t.Errorf("a remote that is away makes the loop %v; want alive, a restart would not help", err)
		}
		w.source.set("A", nil)
		time.Sleep(time.Minute)
		if err := w.loop.Health(); err != nil {
			t.Errorf("after the remote came back: %v; want healthy", err)
		}
	})
}

func TestALoopThatHangsIsNotAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.source.hang = true
		w.run(t)
		time.Sleep(2 * time.Minute)
		if err := w.loop.Live(); err != nil {
			t.Errorf("after two periods: %v; want alive", err)
		}
		time.Sleep(2 * time.Minute)
		if err := w.loop.Live(); err == nil {
			t.Error("after four periods without an answer the loop is alive")
		}
	})
}

func TestACommitThatCannotBeReadIsToldAndTheLastGoodOneKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		time.Sleep(time.Second)
		w.source.refuse("B", errors.New("no folder deploy"))
		time.Sleep(10 * time.Minute)
		if err := w.loop.Health(); err != nil {
			t.Errorf("Health: %v; want healthy, the remote answers", err)
		}
		if status := w.loop.Status(); status.PollError != "no folder deploy" || status.Commit != "A" || w.warnings() != 1 {
			t.Errorf("status %q at commit %s, %d warnings; want the cause, A, 1", status.PollError, status.Commit, w.warnings())
		}
	})
}

func TestReadyOnceACommitWasLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.source.set("", errAway)
		w.run(t)
		time.Sleep(time.Second)
		if err := w.loop.Ready(); err == nil || !strings.Contains(err.Error(), errAway.Error()) {
			t.Errorf("Ready: %v; want %v", err, errAway)
		}
		w.source.set("A", nil)
		time.Sleep(time.Minute)
		if err := w.loop.Ready(); err != nil {
			t.Errorf("Ready: %v; want ready", err)
		}
	})
}

func TestABadScheduleTeachesTheRightForm(t *testing.T) {
	for _, text := range []string{"", "* * * *", "61 * * * *", "every minute", "@every", "@every x"} {
		_, err := ParseSchedule(text)
		if err == nil || !strings.Contains(err.Error(), "@every 30s") || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("ParseSchedule(%q): %v; want the text and an example", text, err)
		}
	}
	for _, text := range []string{EveryMinute, "@every 10s", "@hourly", "0 22 * * 1-4"} {
		if _, err := ParseSchedule(text); err != nil {
			t.Errorf("ParseSchedule(%q): %v", text, err)
		}
	}
}
