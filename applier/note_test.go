package applier

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
)

var update = flag.Bool("update", false, "rewrite golden files")

// pod is a pod of a plan; done says that it is at the wanted template.
func pod(name string, verb planner.Verdict, turn int, done bool) planner.PodPlan {
	state := planner.Progressing
	if done {
		state = planner.Settled
	}
	return planner.PodPlan{Name: name, UID: types.UID("uid-" + name), Verb: verb, Turn: turn, Done: done, State: state}
}

// rounds tells a story of one workload whose rounds have these pods.
func rounds(verdict planner.Verdict, all ...[]planner.PodPlan) *story {
	s := newStory(commit)
	for i, pods := range all {
		w := planner.WorkloadPlan{Ref: ref("Deployment", "web"), Pods: pods, State: planner.Progressing}
		if i < len(all)-1 {
			w.Verdict, w.Containers = verdict, []string{"app"}
			w.Reasons = []planner.Reason{{Rule: "image", Field: "spec.containers[app].image", From: "a:1", To: "a:2", Text: "the kubelet restarts this container in the same pod"}}
		} else {
			w.State = planner.Settled
		}
		s.add(Outcome{Plan: planner.Plan{Commit: "c1", Workloads: []planner.WorkloadPlan{w}, State: w.State}, State: w.State}, newRetries())
	}
	return s
}

func TestTheNoteCountsPodsByWhatWasDoneToThem(t *testing.T) {
	kept, failed := pod("c", planner.Restart, 0, false), pod("b", planner.Restart, 1, false)
	kept.State, failed.State, failed.Text = planner.Held, planner.Failed, `Back-off pulling image "a:2"`
	for _, tt := range []struct {
		name    string
		verdict planner.Verdict
		rounds  [][]planner.PodPlan
		want    NotePods
	}{
		{"restarted in place, one after the other", planner.Restart, [][]planner.PodPlan{
			{pod("a", planner.Restart, 1, false), pod("b", planner.Restart, 2, false)},
			{pod("a", planner.Keep, 0, true), pod("b", planner.Restart, 1, false)},
			{pod("a", planner.Keep, 0, true), pod("b", planner.Keep, 0, true)},
		}, NotePods{Total: 2, InPlace: 2}},
		{"patched without a restart", planner.Metadata, [][]planner.PodPlan{
			{pod("a", planner.Metadata, 1, false)}, {pod("a", planner.Keep, 0, true)},
		}, NotePods{Total: 1, Metadata: 1}},
		{"recreated, and one more", planner.Recreate, [][]planner.PodPlan{
			{pod("a", planner.Recreate, 1, false), pod("b", planner.Recreate, 2, false)},
			{pod("x", planner.Keep, 0, true), pod("y", planner.Keep, 0, true), pod("z", planner.Keep, 0, true)},
		}, NotePods{Total: 3, Recreated: 2, Created: 1}},
		{"one held by a partition, one failed", planner.Restart, [][]planner.PodPlan{
			{pod("a", planner.Restart, 1, false), pod("b", planner.Restart, 2, false), kept},
			{pod("a", planner.Keep, 0, true), failed, kept},
		}, NotePods{Total: 3, InPlace: 1, Kept: 1, Failed: 1}},
		{"interrupted half-way", planner.Restart, [][]planner.PodPlan{
			{pod("a", planner.Restart, 1, false), pod("b", planner.Restart, 2, false)},
			{pod("a", planner.Keep, 0, true), pod("b", planner.Restart, 1, false)},
		}, NotePods{Total: 2, InPlace: 1, Kept: 1}},
		{"fewer are wanted", planner.Remove, [][]planner.PodPlan{
			{pod("a", planner.Remove, 1, false), pod("b", planner.Keep, 0, true)}, {pod("b", planner.Keep, 0, true)},
		}, NotePods{Total: 1, Removed: 1, Kept: 1}},
		{"fewer are wanted, and another pod is lost", planner.Remove, [][]planner.PodPlan{
			{pod("a", planner.Remove, 1, false), pod("b", planner.Keep, 0, true), pod("c", planner.Keep, 0, true)},
			{pod("b", planner.Keep, 0, true), pod("x", planner.Keep, 0, true)},
		}, NotePods{Total: 2, Removed: 1, Created: 1, Kept: 1}},
		{"fewer are wanted, and those are made anew", planner.Recreate, [][]planner.PodPlan{
			{pod("a", planner.Remove, 1, false), pod("b", planner.Recreate, 2, false), pod("c", planner.Recreate, 3, false), pod("d", planner.Remove, 1, false)},
			{pod("a", planner.Recreate, 1, false), pod("d", planner.Recreate, 1, false)},
			{pod("d", planner.Recreate, 1, false), pod("x", planner.Keep, 0, true)},
			{pod("x", planner.Keep, 0, true), pod("y", planner.Keep, 0, true)},
		}, NotePods{Total: 2, Recreated: 2, Removed: 2}},
		{"nothing to do", planner.Keep, [][]planner.PodPlan{{pod("a", planner.Keep, 0, true)}}, NotePods{Total: 1, Kept: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := rounds(tt.verdict, tt.rounds...).note(planner.Settled).Workloads[0].Pods
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pods of the note (-want +got):\n%s", diff)
			}
		})
	}
}

// telling is a note with every field.
func telling() Note {
	failed := pod("b", planner.Restart, 1, false)
	failed.State, failed.Text = planner.Failed, `Back-off 40s pulling image "a:2"`
	s := rounds(planner.Restart,
		[]planner.PodPlan{pod("a", planner.Restart, 1, false), pod("b", planner.Restart, 2, false)},
		[]planner.PodPlan{pod("a", planner.Keep, 0, true), failed})
	object := planner.ObjectPlan{Ref: ref("ConfigMap", "settings"), Verb: planner.Update}
	s.add(Outcome{Plan: planner.Plan{Objects: []planner.ObjectPlan{object}, Workloads: s.last.Plan.Workloads,
		Problems: []planner.Problem{{Origin: planner.Origin{File: "web.yaml", Document: 2}, Text: "replicas is -1; want 0 or more"}}},
		Results: []Result{{Unit: object.Ref, Status: Done}}}, newRetries())
	note := s.note(planner.Failed)
	note.Cluster, note.Path, note.Tree, note.SupersededBy, note.RewrittenFrom = "prod", "deploy", "t1", "c2", "c0"
	return note
}

func TestNoteFormatV1IsStable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, err := telling().Encode()
		if err != nil {
			t.Fatal(err)
		}
		const golden = "testdata/note-v1.yaml"
		if *update {
			if err := os.WriteFile(golden, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(text)); diff != "" {
			t.Errorf("note (-want +got); a new meaning needs a new v:\n%s", diff)
		}
		back, err := ParseNote(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(telling(), back); diff != "" {
			t.Errorf("the note that was read back differs (-want +got):\n%s", diff)
		}
	})
}

func TestANoteNeverHoldsTheValuesOfReasons(t *testing.T) {
	text, err := telling().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "a:1") {
		t.Errorf("the note tells the old value of a field:\n%s", text)
	}
}

func TestANoteThatSaysNothingNewIsTheSame(t *testing.T) {
	first := telling()
	later := telling()
	later.Started, later.Finished = later.Started.Add(time.Hour), later.Finished.Add(time.Hour)
	later.Workloads[0].Failed = []NotePod{{Name: "b", Text: `Back-off 1m20s pulling image "a:2"`}}
	if !first.Same(later) {
		t.Error("a note differs by times and by the kubelet's back-off only, and is not the same")
	}
	for name, change := range map[string]func(*Note){
		"state":        func(n *Note) { n.State = planner.Settled },
		"supersededBy": func(n *Note) { n.SupersededBy = "c3" },
		"pods":         func(n *Note) { n.Workloads[0].Pods.InPlace++ },
		"problem":      func(n *Note) { n.Problems = append(n.Problems, "another") },
	} {
		other := telling()
		change(&other)
		if first.Same(other) {
			t.Errorf("a note with another %s is the same", name)
		}
	}
}

func TestARestartOfSituDoesNotWipeOutTheStory(t *testing.T) {
	earlier := rounds(planner.Restart,
		[]planner.PodPlan{pod("a", planner.Restart, 1, false)}, []planner.PodPlan{pod("a", planner.Keep, 0, true)}).note(planner.Settled)
	earlier.Objects = []NoteObject{{NoteRef: NoteRef(ref("ConfigMap", "settings")), Verb: planner.Create}}
	restarted := rounds(planner.Keep, []planner.PodPlan{pod("a", planner.Keep, 0, true)}).note(planner.Settled)
	if got := restarted.After(earlier); !got.Same(earlier) {
		t.Errorf("after a restart the note is (-earlier +now):\n%s", cmp.Diff(earlier, got))
	}
	restarted.State, restarted.Workloads[0].State = planner.Failed, planner.Failed
	got := restarted.After(earlier)
	if got.State != planner.Failed || got.Workloads[0].State != planner.Failed || got.Workloads[0].Pods.InPlace != 1 {
		t.Errorf("the note is %+v; want the new state with the old story", got.Workloads[0])
	}
}

func TestANoteFitsInto64KiB(t *testing.T) {
	for _, tt := range []struct {
		name string
		grow func(*Note)
	}{
		{"reasons", func(n *Note) {
			for i := range 3000 {
				n.Workloads[0].Reasons = append(n.Workloads[0].Reasons, NoteReason{Rule: "r", Text: fmt.Sprint(i)})
			}
		}},
		{"workloads", func(n *Note) {
			for range 1000 {
				n.Workloads = append(n.Workloads, n.Workloads[0])
			}
		}},
		{"objects", func(n *Note) {
			for range 1000 {
				n.Objects = append(n.Objects, n.Objects[0])
			}
		}},
		{"problems", func(n *Note) {
			for range 1000 {
				n.Problems = append(n.Problems, strings.Repeat("x", maxText))
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			note := telling()
			tt.grow(&note)
			text, err := note.Encode()
			if err != nil {
				t.Fatal(err)
			}
			back, err := ParseNote(text)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > maxNote || !back.Truncated || back.State != planner.Failed {
				t.Errorf("note has %d bytes, truncated %t, state %q; want at most %d, true, failed", len(text), back.Truncated, back.State, maxNote)
			}
		})
	}
}

func TestANoteOfAnotherVersionIsNotRead(t *testing.T) {
	for _, text := range []string{"v: 2\nstate: settled\n", "state: settled\n", ": :", strings.Repeat("x", maxNote+1)} {
		if _, err := ParseNote([]byte(text)); err == nil {
			t.Errorf("ParseNote(%.30q): no error", text)
		}
	}
}

func TestAGivenUpActionIsAProblemOfTheNote(t *testing.T) {
	s := rounds(planner.Keep, []planner.PodPlan{pod("a", planner.Keep, 0, true)})
	for range maxTries {
		s.retries.note([]Result{{Unit: ref("Deployment", "web"), Status: Refused, Err: errors.New(strings.Repeat("é", maxText))}})
	}
	problems := s.note(planner.Failed).Problems
	if len(problems) != 1 || !strings.HasPrefix(problems[0], "deployment/web in shop: éé") || len(problems[0]) > maxText+3 {
		t.Errorf("problems are %q; want one, cut to %d bytes", problems, maxText)
	}
}

func TestTheNoteTellsWhatOnlyALaterRoundFoundOut(t *testing.T) {
	s := newStory(commit)
	image := planner.Reason{Rule: "image", Text: "restarts"}
	for _, reasons := range [][]planner.Reason{{image}, {image, {Rule: "not-pulled", Text: "quota"}}, {{Rule: "not-pulled", Text: "quota again"}}} {
		w := planner.WorkloadPlan{Ref: ref("Deployment", "web"), Verdict: planner.Restart, Reasons: reasons}
		s.add(Outcome{Plan: planner.Plan{Workloads: []planner.WorkloadPlan{w}}}, newRetries())
	}
	want := []NoteReason{{Rule: "image", Text: "restarts"}, {Rule: "not-pulled", Text: "quota"}}
	if diff := cmp.Diff(want, s.note(planner.Settled).Workloads[0].Reasons); diff != "" {
		t.Errorf("reasons differ (-want +got):\n%s", diff)
	}
}

func TestNobodyIsWokenForWhatHasNothingLeftToDo(t *testing.T) {
	r := newRetries()
	r.note([]Result{{Unit: ref("Deployment", "web"), Status: Refused, Err: errors.New("exceeded quota")}})
	if r.next(web(planner.Progressing, step("pull"))).IsZero() {
		t.Error("a refused action that is still wanted is never due")
	}
	if due := r.next(web(planner.Failed)); !due.IsZero() {
		t.Errorf("a workload without steps is due at %s, want never", due)
	}
}
