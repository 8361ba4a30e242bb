package poller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"situ.gitops/applier"
	"situ.gitops/planner"
	"situ.gitops/sync/gitrepo"
)

// fakeSource has a head that tests move.
type fakeSource struct {
	mu    sync.Mutex
	head  string
	err   error // of both
	read  error // of Read
	hang  bool
	polls int
	reads int
}

// refuse moves the head to a commit that cannot be read.
func (f *fakeSource) refuse(head string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.head, f.read = head, err
}

func (f *fakeSource) set(head string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.head, f.err = head, err
}

func (f *fakeSource) count() (polls, reads int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polls, f.reads
}

func (f *fakeSource) Poll(ctx context.Context) (gitrepo.Head, error) {
	if f.hang {
		<-ctx.Done()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls++
	return gitrepo.Head{Hash: f.head}, f.err
}

func (f *fakeSource) Read(_ context.Context, head gitrepo.Head) (Revision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	return Revision{Commit: planner.Commit{ID: head.Hash}, Path: "deploy", Tree: "tree of " + head.Hash}, errors.Join(f.err, f.read)
}

// fakeSettler settles as settle says, and sees to it that no two calls overlap.
type fakeSettler struct {
	settle  func(ctx context.Context, commit string) (applier.Note, error)
	changes chan struct{}

	mu      sync.Mutex
	running int
	overlap bool
	settled []string
}

func (f *fakeSettler) Settle(ctx context.Context, commit planner.Commit, progress func(applier.Outcome)) (applier.Note, error) {
	f.mu.Lock()
	f.running++
	f.overlap = f.overlap || f.running > 1
	f.settled = append(f.settled, commit.ID)
	f.mu.Unlock()
	progress(applier.Outcome{Plan: planner.Plan{Commit: commit.ID}})
	note, err := f.settle(ctx, commit.ID)
	note.V, note.Commit = applier.NoteVersion, commit.ID
	f.mu.Lock()
	f.running--
	f.mu.Unlock()
	return note, err
}

func (f *fakeSettler) Changes() <-chan struct{} { return f.changes }

// taken are the commits that were taken up, in order.
func (f *fakeSettler) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.settled)
}

func (f *fakeSettler) calls() int { return len(f.taken()) }

// fakeNotes keeps notes, unless err refuses them.
type fakeNotes struct {
	mu       sync.Mutex
	err      error
	attempts int
	writes   int
	stored   map[string][]byte
}

func (f *fakeNotes) WriteNote(_ context.Context, commit string, merge func([]byte) []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempts++
	if f.err != nil {
		return f.err
	}
	text := merge(f.stored[commit])
	if string(text) != string(f.stored[commit]) {
		f.writes++
		f.stored[commit] = text
	}
	return nil
}

func (f *fakeNotes) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeNotes) count() (attempts, writes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attempts, f.writes
}

func (f *fakeNotes) note(t *testing.T, commit string) applier.Note {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	note, err := applier.ParseNote(f.stored[commit])
	if err != nil {
		t.Fatalf("note of %s: %v", commit, err)
	}
	return note
}

// world is a loop among fakes, whose settler settles at once.
type world struct {
	source  *fakeSource
	settler *fakeSettler
	notes   *fakeNotes
	logged  *test.Hook
	loop    *Loop
}

func newWorld(t *testing.T) world {
	t.Helper()
	schedule, err := ParseSchedule("@every 1m")
	if err != nil {
		t.Fatal(err)
	}
	log, logged := test.NewNullLogger()
	w := world{
		source: &fakeSource{head: "A"},
		settler: &fakeSettler{changes: make(chan struct{}, 1), settle: func(context.Context, string) (applier.Note, error) {
			return applier.Note{State: planner.Settled}, nil
		}},
		notes:  &fakeNotes{stored: map[string][]byte{}},
		logged: logged,
	}
	w.loop = &Loop{Source: w.source, Settler: w.settler, Notes: w.notes, Cluster: "prod", Schedule: schedule, Log: log}
	return w
}

// run runs the loop until the test's end.
func (w world) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.loop.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if w.settler.overlap {
			t.Error("two rounds of the source overlapped")
		}
	})
}

func (w world) warnings() int {
	n := 0
	for _, entry := range w.logged.AllEntries() {
		if entry.Level == logrus.WarnLevel {
			n++
		}
	}
	return n
}

var errAway = errors.New("no route to host")
