package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/term"

	"situ.gitops/applier"
	"situ.gitops/cmd/situ/report"
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
	told  map[planner.Ref]string // the line that a workload got last
	drawn string                 // the line on the terminal now
}

func newLive(out io.Writer) *live {
	l := &live{out: out, told: map[planner.Ref]string{}}
	l.fd, l.tty = terminal(out)
	return l
}

// Write lets a log line pass above the live line.
func (l *live) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(text), l.show(string(text), l.drawn)
}

// round shows what a round changed.
func (l *live) round(outcome applier.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := objectNews(outcome)
	for _, w := range outcome.Plan.Workloads {
		news += l.workloadNews(w)
	}
	_ = l.show(news, l.line(outcome.Plan)) // progress that nobody can see is no reason to stop
}

// close takes the live line away.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.show("", "")
}

// objectNews tells of objects that were written, and of actions that were not carried out.
func objectNews(outcome applier.Outcome) string {
	verbs := map[planner.Ref]planner.ObjectVerb{}
	for _, object := range outcome.Plan.Objects {
		verbs[object.Ref] = object.Verb
	}
	var news strings.Builder
	for _, result := range outcome.Results {
		verb, isObject := verbs[result.Unit]
		switch {
		case result.Err != nil:
			news.WriteString(report.Printable(fmt.Sprintf("%s: %s: %v", result.Unit, result.Action.Name, result.Err)) + "\n")
		case isObject && result.Status == applier.Done:
			news.WriteString(report.Printable(fmt.Sprintf("%s: %sd", result.Unit, verb)) + "\n")
		}
	}
	return news.String()
}

// workloadNews is the line for a workload, "" if there is nothing new. On a
// terminal the live line has what is on its way.
func (l *live) workloadNews(w planner.WorkloadPlan) string {
	text := report.Printable(fmt.Sprintf("%s: %s", w.Ref, pace(w))) + "\n"
	before, known := l.told[w.Ref]
	if text == before || !known && w.State == planner.Settled {
		return ""
	}
	if l.tty && w.State == planner.Progressing {
		l.told[w.Ref] = ""
		return ""
	}
	l.told[w.Ref] = text
	return text
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

// show writes news above the live line, and draws that anew if it changed.
func (l *live) show(news, line string) error {
	if !l.tty {
		_, err := io.WriteString(l.out, news)
		return err
	}
	line = l.fitted(line)
	if news == "" && line == l.drawn {
		return nil
	}
	l.drawn = line
	_, err := io.WriteString(l.out, "\r\x1b[K"+news+line)
	return err
}

// fitted cuts a line to the terminal's width, where it could not be taken back.
func (l *live) fitted(line string) string {
	line = report.Printable(line)
	width, _, err := term.GetSize(l.fd)
	letters := []rune(line)
	if err != nil || width < 5 || len(letters) < width {
		return line
	}
	return string(letters[:width-4]) + "..."
}
