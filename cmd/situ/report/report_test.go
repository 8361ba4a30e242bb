package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"situ.gitops/applier"
	"situ.gitops/planner"
)

var update = flag.Bool("update", false, "rewrite golden files")

var image = planner.Reason{Rule: "image", Field: "spec.containers[app].image", From: "reg.test/app:v1", To: "reg.test/app:v2",
	Text: "the kubelet restarts this container in the same pod"}

func deployment(name string) planner.Ref {
	return planner.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
}

// fullPlan has one of everything.
func fullPlan() planner.Plan {
	env := planner.Reason{Rule: "pod-spec", Field: "spec.containers[app].env[LOG].value", Text: "only a new pod can have it"}
	return planner.Plan{
		Commit: "0123456789012345678901234567890123456789", State: planner.Progressing,
		Workloads: []planner.WorkloadPlan{
			{Ref: deployment("web"), Origin: planner.Origin{File: "web.yaml", Document: 1}, Host: "deployment/web through replicaset/web-5d8f",
				Verdict: planner.Recreate, Containers: []string{"app"}, Reasons: []planner.Reason{image}, State: planner.Progressing, Text: "updating",
				Budget: planner.Budget{Replicas: 3, MaxUnavailable: 1, Room: 1, Text: "3 wanted, maxUnavailable 25% is 1, 0 unavailable: room for 1"},
				Steps:  []planner.Step{{{Name: "patch"}}},
				Pods: []planner.PodPlan{
					{Name: "web-1", Verb: planner.Restart, Turn: 1, Reasons: []planner.Reason{image}},
					{Name: "web-2", Verb: planner.Recreate, Turn: 2, Reasons: []planner.Reason{image, env}},
					{Name: "web-3", Verb: planner.Restart, Turn: 0, State: planner.Held, Text: "kept by partition 1", Reasons: []planner.Reason{image}},
				}},
			{Ref: deployment("api"), Origin: planner.Origin{File: "api.yaml", Document: 1}, Verdict: planner.Keep, State: planner.Settled,
				Pods: []planner.PodPlan{{Name: "api-1", Done: true, State: planner.Settled}}},
			{Ref: deployment("new"), Origin: planner.Origin{File: "new.yaml", Document: 1}, Create: true, State: planner.Progressing},
		},
		Objects: []planner.ObjectPlan{
			{Ref: planner.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, Origin: planner.Origin{File: "c.yaml", Document: 1},
				Verb: planner.Update, Fields: []string{"data.a", "data.b"}, State: planner.Progressing},
			{Ref: planner.Ref{APIVersion: "v1", Kind: "Service", Namespace: "shop", Name: "web"}, Origin: planner.Origin{File: "c.yaml", Document: 2}, Verb: planner.None},
			{Ref: planner.Ref{APIVersion: "x.test/v1", Kind: "Gadget", Name: "g"}, Origin: planner.Origin{File: "g.yaml", Document: 1}, Verb: planner.RefuseObject,
				State: planner.Failed, Text: "spec.size: Invalid value: <nil> | want a number"},
		},
		Problems: []planner.Problem{{Origin: planner.Origin{File: "bad.yaml", Document: 2}, Text: "replicas is -1; want 0 or more"}},
	}
}

// fewer is a plan of pods that go for good, and of a workload that is only written to.
func fewer() planner.Plan {
	goes := planner.Reason{Rule: "replicas", Field: "spec.replicas", From: "4", To: "2", Text: "2 go, and no others take their places"}
	pods := func(verbs ...planner.Verdict) []planner.PodPlan {
		var pods []planner.PodPlan
		for i, verb := range verbs {
			pod := planner.PodPlan{Name: fmt.Sprintf("web-%d", i), Verb: verb, Turn: 1, State: planner.Progressing}
			switch verb {
			case planner.Remove:
				pod.Reasons = []planner.Reason{goes}
			case planner.Restart:
				pod.Reasons = []planner.Reason{image}
			case planner.Keep:
				pod.Turn, pod.Done, pod.State = 0, true, planner.Settled
			}
			pods = append(pods, pod)
		}
		return pods
	}
	acting := []planner.Step{{{Name: "apply"}}}
	origin := planner.Origin{File: "web.yaml", Document: 1}
	return planner.Plan{State: planner.Progressing, Workloads: []planner.WorkloadPlan{
		{Ref: deployment("fewer"), Origin: origin, Verdict: planner.Remove, State: planner.Progressing, Text: "updating", Steps: acting, Reasons: []planner.Reason{goes},
			Pods: pods(planner.Keep, planner.Keep, planner.Remove, planner.Remove)},
		{Ref: deployment("both"), Origin: origin, Verdict: planner.Restart, Containers: []string{"app"}, State: planner.Progressing, Text: "updating", Steps: acting,
			Reasons: []planner.Reason{image, goes}, Pods: pods(planner.Restart, planner.Restart, planner.Remove, planner.Remove)},
		{Ref: deployment("itself"), Origin: origin, State: planner.Progressing, Text: "updating", Steps: acting, Fields: []string{"spec.minReadySeconds", "spec.strategy"},
			Pods: pods(planner.Keep)},
	}}
}

// drift is a plan with pods that others have written on: one of a workload that
// needs nothing, and two of one that is patched anyway.
func drift() planner.Plan {
	plan := fullPlan()
	fields := []planner.Drift{
		{Field: "spec.containers[app].image", Template: "reg.test/app:v1", Live: "reg.test/app:v3", Text: "image of container app"},
		{Field: "metadata.annotations.config", Template: "a|b", Text: "annotation config"},
		{Field: "metadata.labels.tier", Text: "label tier"},
	}
	api, web := plan.Workloads[1], plan.Workloads[0]
	api.Pods = append([]planner.PodPlan{{Name: "api-0", Done: true, State: planner.Settled, Drift: fields}}, api.Pods...)
	plan.Workloads, plan.Objects, plan.Problems, plan.State = []planner.WorkloadPlan{api}, nil, nil, planner.Settled
	web.Pods = append([]planner.PodPlan{}, web.Pods...)
	web.Pods[0].Drift, web.Pods[2].Drift = fields[1:2], fields[1:2]
	plan.Workloads = append(plan.Workloads, web)
	return plan
}

// manyPods is a plan for more pods than anybody wants to read about.
func manyPods() planner.Plan {
	w := planner.WorkloadPlan{Ref: deployment("big"), Verdict: planner.Restart, Containers: []string{"app"}, Reasons: []planner.Reason{image}}
	for i := range 500 {
		w.Pods = append(w.Pods, planner.PodPlan{Name: fmt.Sprintf("big-%03d", i), Verb: planner.Restart, Turn: 1, Reasons: w.Reasons})
	}
	return planner.Plan{Workloads: []planner.WorkloadPlan{w}, State: planner.Progressing}
}

func notes() []applier.Note {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ref := applier.NoteRef(deployment("web"))
	return []applier.Note{
		{V: 1, Commit: "0123456789012345678901234567890123456789", Cluster: "prod", State: planner.Failed, Started: start, Finished: start.Add(90 * time.Second),
			SupersededBy: "9876543210987654321098765432109876543210", Problems: []string{"bad.yaml, document 2: replicas is -1; want 0 or more"},
			Workloads: []applier.NoteWorkload{{NoteRef: ref, Verdict: "restart", State: planner.Failed, Text: "pod web-1 is broken", Restarted: []string{"app"},
				Pods:    applier.NotePods{Total: 4, InPlace: 1, Kept: 2, Failed: 1},
				Reasons: []applier.NoteReason{{Rule: "image", Field: "spec.containers[app].image", Text: "the kubelet restarts this container in the same pod"}},
				Failed:  []applier.NotePod{{Name: "web-1", Text: "app: ImagePullBackOff"}}}}},
		{V: 1, Commit: "1111111111111111111111111111111111111111", Cluster: "prod", State: planner.Settled, RewrittenFrom: "2222222222222222222222222222222222222222", Started: start, Finished: start.Add(time.Second),
			Workloads: []applier.NoteWorkload{{NoteRef: ref, Verdict: "create", State: planner.Settled, Pods: applier.NotePods{Total: 4, Created: 4}}},
			Objects:   []applier.NoteObject{{NoteRef: applier.NoteRef{APIVersion: "v1", Kind: "Namespace", Name: "shop"}, Verb: planner.Create}}},
	}
}

func TestWhatPeopleSee(t *testing.T) {
	for _, tt := range []struct {
		file  string
		print func(Printer) error
	}{
		{"plan.txtar", func(p Printer) error { return p.Plan("prod", fullPlan()) }},
		{"many-pods.txtar", func(p Printer) error { return p.Plan("prod", manyPods()) }},
		{"nothing-to-do.txtar", func(p Printer) error {
			return p.Plan("", planner.Plan{State: planner.Settled, Workloads: fullPlan().Workloads[1:2]})
		}},
		{"fewer.txtar", func(p Printer) error { return p.Plan("prod", fewer()) }},
		{"drift.txtar", func(p Printer) error { return p.Plan("prod", drift()) }},
		{"history.txtar", func(p Printer) error { return p.History(notes()) }},
		{"note.txtar", func(p Printer) error { return p.Note(notes()[0]) }},
		{"no-history.txtar", func(p Printer) error { return p.History(nil) }},
		{"rules.txtar", func(p Printer) error {
			return p.Rules([]planner.Rule{{ID: "image", Field: "spec.containers[*].image", Verdict: planner.Restart, Reason: "it restarts", Since: "1.0"},
				{ID: "pod-spec", Field: "spec.*", When: "all | else", Verdict: planner.Recreate, Reason: "a new pod", Since: "1.0"}})
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			got := &txtar.Archive{Comment: []byte("What people and programs see; rewritten by -update.\n")}
			for _, format := range []Format{Text, Markdown, JSON} {
				if format == JSON && tt.file == "many-pods.txtar" {
					continue
				}
				var out bytes.Buffer
				if err := tt.print(Printer{Out: &out, Format: format}); err != nil {
					t.Fatal(err)
				}
				got.Files = append(got.Files, txtar.File{Name: string(format), Data: out.Bytes()})
			}
			compare(t, filepath.Join("testdata", tt.file), got)
		})
	}
}

func compare(t *testing.T, golden string, got *txtar.Archive) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}

func TestColourChangesNothingButColour(t *testing.T) {
	var plain, colored bytes.Buffer
	for out, color := range map[*bytes.Buffer]bool{&plain: false, &colored: true} {
		if err := (Printer{Out: out, Format: Text, Color: color}).Plan("prod", fullPlan()); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(colored.String(), "\x1b[") || strings.Contains(plain.String(), "\x1b[") {
		t.Error("colour is not where it was asked for")
	}
	bare := colored.String()
	for _, code := range []string{bold, dim, red, green, yellow, cyan, "0"} {
		bare = strings.ReplaceAll(bare, "\x1b["+code+"m", "")
	}
	if diff := cmp.Diff(plain.String(), bare); diff != "" {
		t.Errorf("without its colours the text differs (-plain +coloured):\n%s", diff)
	}
}

func TestThePlansJSONKeepsItsContract(t *testing.T) {
	var out bytes.Buffer
	if err := (Printer{Out: &out, Format: JSON}).Plan("prod", fullPlan()); err != nil {
		t.Fatal(err)
	}
	var plan map[string]any
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, "plan", plan, "v", "commit", "cluster", "summary", "workloads", "objects")
	workload := plan["workloads"].([]any)[0].(map[string]any)
	wantKeys(t, "workload", workload, "apiVersion", "kind", "namespace", "name", "origin", "host", "verdict", "containers", "reasons", "budget", "pods")
	wantKeys(t, "reason", workload["reasons"].([]any)[0].(map[string]any), "rule", "field", "from", "to", "text")
	wantKeys(t, "pod", workload["pods"].([]any)[0].(map[string]any), "name", "verb", "turn", "reasons")
	wantKeys(t, "object", plan["objects"].([]any)[0].(map[string]any), "apiVersion", "kind", "namespace", "name", "origin", "verb")
	if strings.Contains(out.String(), "null") {
		t.Errorf("a list is null:\n%s", out.String())
	}
}

func wantKeys(t *testing.T, what string, object map[string]any, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, found := object[key]; !found {
			t.Errorf("%s has no %q: %v", what, key, object)
		}
	}
}

func TestTheSummaryKnowsChangesAndTrouble(t *testing.T) {
	for _, tt := range []struct {
		name              string
		plan              planner.Plan
		changes, troubled bool
	}{
		{"empty", planner.Plan{}, false, false},
		{"keep", planner.Plan{Workloads: []planner.WorkloadPlan{{}}, Objects: []planner.ObjectPlan{{Verb: planner.None}}}, false, false},
		{"create", planner.Plan{Workloads: []planner.WorkloadPlan{{Create: true}}}, true, false},
		{"remove", planner.Plan{Workloads: []planner.WorkloadPlan{{Verdict: planner.Remove}}}, true, false},
		{"steps", planner.Plan{Workloads: []planner.WorkloadPlan{{Steps: []planner.Step{{{}}}}}}, true, false},
		{"metadata", planner.Plan{Workloads: []planner.WorkloadPlan{{Verdict: planner.Metadata}}}, true, false},
		{"drift", planner.Plan{Workloads: []planner.WorkloadPlan{{Pods: []planner.PodPlan{{Drift: []planner.Drift{{Field: "f"}}}}}}}, false, false},
		{"object", planner.Plan{Objects: []planner.ObjectPlan{{Verb: planner.Update}}}, true, false},
		{"waiting object", planner.Plan{Objects: []planner.ObjectPlan{{Verb: planner.Wait}}}, true, false},
		{"refused pod", planner.Plan{Workloads: []planner.WorkloadPlan{{Verdict: planner.Refuse}}}, false, true},
		{"refused object", planner.Plan{Objects: []planner.ObjectPlan{{Verb: planner.RefuseObject}}}, false, true},
		{"bad file", planner.Plan{Problems: []planner.Problem{{}}}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Summarize(tt.plan)
			if s.Changes() != tt.changes || s.Troubled() != tt.troubled {
				t.Errorf("Changes %t, Troubled %t; want %t, %t", s.Changes(), s.Troubled(), tt.changes, tt.troubled)
			}
		})
	}
}
