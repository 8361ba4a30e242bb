package planner

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// doTakeOver tests the source that an object has, and replaces it.
func (w *world) doTakeOver(a Action) error {
	operations := a.Body.([]any)
	was, now := operations[0].(map[string]any), operations[1].(map[string]any)
	set := func(annotations map[string]string) error {
		if was["op"] != "test" || now["op"] != "replace" || was["path"] != now["path"] || annotations[AnnotationSource] != was["value"] {
			return fmt.Errorf("take over %s: changed since it was planned", a.Ref)
		}
		annotations[AnnotationSource] = now["value"].(string)
		return nil
	}
	if pod := w.pods[a.Ref.Name]; a.Ref.Kind == "Pod" && pod != nil {
		changed := pod.DeepCopy()
		w.pods[a.Ref.Name] = changed
		return set(changed.Annotations)
	}
	changed := w.objects[a.Ref].DeepCopy()
	annotations := changed.GetAnnotations()
	if err := set(annotations); err != nil {
		return err
	}
	changed.SetAnnotations(annotations)
	w.store(changed.Object)
	return nil
}

// sourceOf is the source that the story's object remembers.
func (s *story) sourceOf() string {
	ref := s.commit.Manifests[0].Ref
	if ref.Kind == "Pod" {
		return s.pods[ref.Name].Annotations[AnnotationSource]
	}
	return s.objects[ref].GetAnnotations()[AnnotationSource]
}

// from makes the present commit one of another source.
func (s *story) from(source string, takeOver ...string) {
	s.commit.Source, s.commit.Policy.TakeOver = source, takeOver
	s.catchUpAll("situ")
	s.decide()
}

func TestWhatSituWritesRemembersItsSource(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		if s.sourceOf() != "" {
			t.Fatalf("the source is %q though the commit has none", s.sourceOf())
		}
		writes := s.writes
		s.from("shop")
		if s.settle(Settled); s.writes != writes {
			t.Errorf("%d writes for the annotation's sake, want none", s.writes-writes)
		}
		s.change(podAnnotation("config", "b"))
		s.from("shop")
		s.settle(Settled)
		if got := s.sourceOf(); got != "shop" && s.commit.Manifests[0].Kind != "Pod" { // a running pod is patched, not applied
			t.Errorf("the source is %q after a write, want shop", got)
		}
	})
}

func TestAnotherSourceKeepsItsHandsOff(t *testing.T) {
	for _, kind := range workloadKinds {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind))
			s.commit.Source = "shop/deploy"
			s.settle(Settled)
			if got := s.sourceOf(); got != "shop/deploy" {
				t.Fatalf("the source is %q, want shop/deploy", got)
			}
			writes := s.writes
			s.from("other")
			if !s.plan.Empty() || s.plan.State != Settled {
				t.Errorf("a source that wants the same has the plan\n%s\nwant nothing to do", planText(t, s.plan))
			}
			s.change(image(0, "app:v2"))
			s.from("other")
			w := s.plan.Workloads[0]
			if w.Verdict != Refuse || w.State != Failed || len(w.Steps) > 0 || len(w.Cleanup) > 0 {
				t.Errorf("a source that wants it otherwise has the plan\n%s\nwant a refusal", planText(t, s.plan))
			}
			for _, part := range []string{"shop/deploy", "remove it", "--take-over shop/deploy", "--source shop/deploy"} {
				if !strings.Contains(w.Text, part) {
					t.Errorf("the refusal is %q, want %q in it", w.Text, part)
				}
			}
			if s.round(); s.writes != writes {
				t.Errorf("%d writes by the wrong source, want none", s.writes-writes)
			}
			s.from("shop/deploy")
			s.settle(Settled)
			s.restarted(0, 1)
		})
	}
}

// Pods that stay as they were are outdated for both.
func TestAnotherSourceThatWantsTheSamePauseIsNotRefused(t *testing.T) {
	two := func(s *Settings) { s.Partition = &Amount{Value: 2} }
	s := newStory(t, hosting(t, two))
	s.commit.Source = "shop"
	s.settle(Settled)
	s.push(hosting(t, two, image(0, "app:v2")))
	s.commit.Source = "shop"
	s.settle(Held)
	ours := planText(t, s.plan)
	s.from("other")
	if its := planText(t, s.plan); its != ours {
		t.Errorf("a source that wants the same has the plan\n%s\nwant that of the first\n%s", its, ours)
	}
}

func TestASourceTakesOverWhatItIsTold(t *testing.T) {
	for _, kind := range workloadKinds {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind))
			s.commit.Source = "shop"
			s.settle(Settled)
			before, writes := s.uids(), s.writes
			s.from("new", "elsewhere", "shop")
			s.settle(Settled)
			if got := s.sourceOf(); got != "new" || s.writes != writes+1 {
				t.Errorf("the source is %q after %d writes, want new after one", got, s.writes-writes)
			}
			s.from("shop")
			if !s.plan.Empty() {
				t.Errorf("the old source, which wants the same, has the plan\n%s\nwant nothing to do", planText(t, s.plan))
			}
			s.change(image(0, "app:v2"))
			s.from("new")
			s.settle(Settled)
			s.sameSince(before)
			s.restarted(0, 1)
		})
	}
}

func TestAnObjectOfAnotherSource(t *testing.T) {
	config := func(greeting string) Manifest {
		return manifest(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {greeting: "+greeting+"}\n")
	}
	live := func(m Manifest, source string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: clone(m.Object).(map[string]any)}
		object.SetUID("u")
		if source != "" {
			object.SetAnnotations(map[string]string{AnnotationSource: source})
		}
		return object
	}
	for _, tt := range []struct {
		name, has, wants string
		source           string // that the object has
		commit           Commit
		verb             ObjectVerb
		steps            []string
	}{
		{"nobody's, and alike", "hi", "hi", "", Commit{Source: "a"}, None, nil},
		{"nobody's, and otherwise", "hi", "ho", "", Commit{Source: "a"}, Update, []string{"apply"}},
		{"its own", "hi", "ho", "a", Commit{Source: "a"}, Update, []string{"apply"}},
		{"another's, and alike", "hi", "hi", "b", Commit{Source: "a"}, None, nil},
		{"another's, and otherwise", "hi", "ho", "b", Commit{Source: "a"}, RefuseObject, nil},
		{"another's, but nobody asks", "hi", "ho", "b", Commit{}, Update, []string{"apply"}},
		{"taken over, and alike", "hi", "hi", "b", Commit{Source: "a", Policy: Policy{TakeOver: []string{"b"}}}, Update, []string{"take-over"}},
		{"taken over, and otherwise", "hi", "ho", "b", Commit{Source: "a", Policy: Policy{TakeOver: []string{"b"}}}, Update, []string{"take-over", "apply"}},
		{"another's than is taken over", "hi", "ho", "c", Commit{Source: "a", Policy: Policy{TakeOver: []string{"b"}}}, RefuseObject, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := config(tt.wants)
			tt.commit.Manifests = []Manifest{m}
			snap := Assume(nil, tt.commit.Manifests)
			snap.Live[m.Ref] = Live{Object: live(config(tt.has), tt.source)}
			plan := Decide(tt.commit, snap).Objects[0]
			var steps []string
			for _, step := range plan.Steps {
				steps = append(steps, step[0].Name)
			}
			if plan.Verb != tt.verb || !reflect.DeepEqual(steps, tt.steps) {
				t.Errorf("plan is %s with steps %v, want %s with %v", plan.Verb, steps, tt.verb, tt.steps)
			}
		})
	}
}

// A hosted workload is told by the name that Git has, and written by its host's.
func TestAHostIsTakenOverByItsOwnName(t *testing.T) {
	m := workload(t, "ReplicaSet")
	m.Hosting = &Hosting{Ref: Ref{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Namespace: m.Namespace, Name: m.Name}, Settings: DefaultSettings()}
	s := newStory(t, m)
	s.commit.Source = "shop"
	s.settle(Settled)
	s.from("new", "shop")
	if w := s.plan.Workloads[0]; w.Kind != "CloneSet" || len(w.Steps) == 0 || w.Steps[0][0].Ref != m.Ref {
		t.Errorf("the plan is\n%s\nwant a CloneSet whose ReplicaSet is written", planText(t, s.plan))
	}
	s.settle(Settled)
	if got := s.sourceOf(); got != "new" {
		t.Errorf("the source is %q, want new", got)
	}
}
