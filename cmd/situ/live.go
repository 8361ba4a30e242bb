package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/term"

	"situ.gitops/applier"
	"situ.gitops/planner"
)

// live shows a rollout while it runs: on a terminal one line that is rewritten,
// elsewhere one plain line for every change. It is a writer, too: what is
// logged through it does not tear the line.
type live struct {
	out   io.Writer
	fd    int
	tty   bool
	mu    sync.Mutex
	told  map[planner.Ref]string
	state map[planner.Ref]planner.State
	drawn string // the line on the terminal now
}

func newLive(out io.Writer) *live {
	l := &live{out: out, told: map[planner.Ref]string{}, state: map[planner.Ref]planner.State{}}
	l.fd, l.tty = terminal(out)
	return l
}

// Write lets a log line pass above the live line.
func (l *live) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	drawn := l.drawn
	l.draw("")
	n, err := l.out.Write(text)
	l.draw(drawn)
	return n, err
}

// round shows what a round changed.
func (l *live) round(outcome applier.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	drawn := l.drawn
	l.draw("")
	l.objects(outcome)
	for _, w := range outcome.Plan.Workloads {
		l.workload(w)
	}
	if !l.tty {
		return
	}
	if drawn = l.line(outcome.Plan); drawn != "" {
		l.draw(drawn)
	}
}

// close takes the live line away.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draw("")
}

// objects tells of objects that were written, and of actions that were not carried out.
func (l *live) objects(outcome applier.Outcome) {
	verbs := map[planner.Ref]planner.ObjectVerb{}
	for _, object := range outcome.Plan.Objects {
		verbs[object.Ref] = object.Verb
	}
	for _, result := range outcome.Results {
		verb, isObject := verbs[result.Unit]
		switch {
		case result.Err != nil:
			fmt.Fprintf(l.out, "%s: %s: %v\n", result.Unit, result.Action.Name, result.Err)
		case isObject && result.Status == applier.Done:
			fmt.Fprintf(l.out, "%s: %sd\n", result.Unit, verb)
		}
	}
}

// workload tells of a workload, if there is news.
func (l *live) workload(w planner.WorkloadPlan) {
	text := fmt.Sprintf("%s: %s", w.Ref, pace(w))
	before, known := l.told[w.Ref]
	l.told[w.Ref] = text
	if text == before || !known && w.State == planner.Settled {
		l.state[w.Ref] = w.State
		return
	}
	if !l.tty || w.State != planner.Progressing && w.State != l.state[w.Ref] {
		fmt.Fprintln(l.out, text)
	}
	l.state[w.Ref] = w.State
}

// pace is "2/4 pods, progressing: waiting for web-1".
func pace(w planner.WorkloadPlan) string {
	done := 0
	for _, pod := range w.Pods {
		if pod.Done {
			done++
		}
	}
	text := fmt.Sprintf("%d/%d pods, %s", done, max(len(w.Pods), w.Budget.Replicas), w.State)
	if w.Text != "" {
		text += ": " + w.Text
	}
	return text
}

// line is the live line: the first workload that is on its way, and how many more are.
func (l *live) line(plan planner.Plan) string {
	text, more := "", 0
	for _, w := range plan.Workloads {
		if w.State != planner.Progressing && w.State != planner.Waiting {
			continue
		}
		if text != "" {
			more++
			continue
		}
		text = fmt.Sprintf("%s: %s", w.Ref, pace(w))
	}
	if more > 0 {
		text = fmt.Sprintf("(+%d) %s", more, text)
	}
	return text
}

// draw rewrites the live line; "" takes it away.
func (l *live) draw(text string) {
	if !l.tty || text == l.drawn {
		return
	}
	if width, _, err := term.GetSize(l.fd); err == nil && width > 4 {
		if letters := []rune(text); len(letters) >= width {
			text = string(letters[:width-4]) + "..."
		}
	}
	fmt.Fprint(l.out, "\r\x1b[K", strings.ReplaceAll(text, "\n", " "))
	l.drawn = text
}
