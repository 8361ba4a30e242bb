package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"situ.gitops/applier"
	"situ.gitops/planner"
)

func rollout(state planner.State, text string, done ...bool) applier.Outcome {
	w := planner.WorkloadPlan{Ref: planner.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, State: state, Text: text}
	for _, ready := range done {
		w.Pods = append(w.Pods, planner.PodPlan{Done: ready})
	}
	return applier.Outcome{Plan: planner.Plan{Workloads: []planner.WorkloadPlan{w}}}
}

func TestAPipeGetsOnePlainLinePerChange(t *testing.T) {
	var out bytes.Buffer
	l := newLive(&out)
	object := planner.ObjectPlan{Ref: planner.Ref{Kind: "ConfigMap", Name: "c"}, Verb: planner.Create}
	first := rollout(planner.Progressing, "updating", false, false)
	first.Plan.Objects = []planner.ObjectPlan{object}
	first.Results = []applier.Result{
		{Unit: object.Ref, Status: applier.Done},
		{Unit: first.Plan.Workloads[0].Ref, Action: planner.Action{Name: "pause"}, Status: applier.Refused, Err: errors.New("forbidden")},
	}
	for _, outcome := range []applier.Outcome{
		first, rollout(planner.Progressing, "updating", false, false),
		rollout(planner.Progressing, "pod web-2: not ready", true, false), rollout(planner.Settled, "", true, true), rollout(planner.Settled, "", true, true),
	} {
		l.round(outcome)
	}
	l.close()
	want := strings.Join([]string{
		"configmap/c: created",
		"deployment/web in shop: pause: forbidden",
		"deployment/web in shop: 0/2 pods, progressing: updating",
		"deployment/web in shop: 1/2 pods, progressing: pod web-2: not ready",
		"deployment/web in shop: 2/2 pods, settled", "",
	}, "\n")
	if out.String() != want {
		t.Errorf("progress in a pipe is\n%s\nwant\n%s", out.String(), want)
	}
}

func TestNothingIsToldOfWhatIsSettledFromTheStart(t *testing.T) {
	var out bytes.Buffer
	newLive(&out).round(rollout(planner.Settled, "", true))
	if out.Len() > 0 {
		t.Errorf("progress is %q; want nothing", out.String())
	}
}

func TestALogLineDoesNotTearTheLiveLine(t *testing.T) {
	var out bytes.Buffer
	l := newLive(&out)
	l.tty = true
	l.round(rollout(planner.Progressing, "updating", true, false))
	if _, err := l.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	l.round(rollout(planner.Settled, "", true, true))
	l.close()
	// What is left on the screen: a carriage return with an erase begins a line anew.
	var screen []string
	for _, line := range strings.Split(out.String(), "\n") {
		parts := strings.Split(line, "\r\x1b[K")
		screen = append(screen, parts[len(parts)-1])
	}
	if got, want := strings.Join(screen, "\n"), "a log line\ndeployment/web in shop: 2/2 pods, settled\n"; got != want {
		t.Errorf("the terminal shows %q; want %q", got, want)
	}
	if !strings.Contains(out.String(), "deployment/web in shop: 1/2 pods, progressing: updating") {
		t.Errorf("the live line was never drawn: %q", out.String())
	}
}
