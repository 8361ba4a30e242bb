package poller

import (
	"sync"
	"time"

	"situ.gitops/applier"
	"situ.gitops/planner"
)

// Status is what a loop is at, for pages and probes. Nobody edits it.
type Status struct {
	Commit    string        // that is being kept; "" before the first
	Subject   string        // of its message
	LastPoll  time.Time     // that succeeded
	PollError string        // why the last poll or the reading of its commit failed, or ""
	Error     string        // why the cluster could not be asked, or ""
	Plan      *planner.Plan // of the last round; nil before the first
	Note      *applier.Note // how the commit ended last; nil before
}

// watch keeps the status. The zero value is ready.
type watch struct {
	mu    sync.Mutex
	now   Status
	start time.Time
	turn  time.Time // when follow came back last
	err   error     // with what
}

func (w *watch) begin(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.start, w.turn = t, t
}

// polled: the remote has answered.
func (w *watch) polled(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.LastPoll = t
}

// looked: a turn of follow has come to its end, well or badly.
func (w *watch) looked(t time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn, w.err, w.now.PollError = t, err, ""
	if err != nil {
		w.now.PollError = err.Error()
	}
}

func (w *watch) take(rev Revision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Commit, w.now.Subject, w.now.Note = rev.ID, rev.Subject, nil
}

func (w *watch) plan(plan planner.Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Plan = &plan
}

func (w *watch) end(note applier.Note, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Error = ""
	if err != nil {
		w.now.Error = err.Error()
		return
	}
	w.now.Note = &note
}

// lastGood is when a poll succeeded last, or else when the loop began, with the
// error of the last poll.
func (w *watch) lastGood() (time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now.LastPoll.IsZero() {
		return w.start, w.err
	}
	return w.now.LastPoll, w.err
}

func (w *watch) lastTurn() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turn
}

func (w *watch) status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}
