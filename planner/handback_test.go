package planner

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// fromCloneSet is a story in which a CloneSet's host has the pods, and Git wants a Deployment.
func fromCloneSet(t *testing.T, ask func(*Settings)) (*story, func(...edit)) {
	t.Helper()
	s := newStory(t, hosting(t, ask))
	s.settle(Settled)
	return s, func(edits ...edit) { s.push(edited(workload(t, "Deployment"), edits...)) }
}

// adopted: the Deployment has the one ReplicaSet that was the host.
func (s *story) adopted() {
	s.t.Helper()
	sets := s.of("ReplicaSet")
	if len(sets) != 1 || sets[0].GetName() != "web" || len(sets[0].GetOwnerReferences()) != 1 {
		s.t.Fatalf("%d ReplicaSets; want the Deployment to have the one that was the host", len(sets))
	}
	if _, is := HostedBy(sets[0]); is {
		s.t.Error("it is still marked as a host")
	}
}

func TestADeploymentTakesThePodsOfItsCloneSetBackWithoutARestart(t *testing.T) {
	s, revert := fromCloneSet(t, gentle)
	before := s.uids()
	s.room = 0
	revert()
	s.settle(Settled)
	s.sameSince(before)
	s.restarted(0, 0)
	s.adopted()

	s.room = 1
	s.change(image(0, "app:v2"))
	s.settle(Settled)
	s.sameSince(before)
	s.restarted(0, 1)

	s.push(hosting(t, gentle, image(0, "app:v1")))
	s.settle(Settled)
	s.sameSince(before)
	s.restarted(0, 2)
	s.noneIsLeft()
}

func TestAHandBackGoesOnAfterACrashAtAnyAction(t *testing.T) {
	for n := 0; ; n++ {
		s, revert := fromCloneSet(t, gentle)
		before := s.uids()
		s.room = 1
		revert(image(0, "app:v2"))
		whole := s.crashAfter(n)
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
		s.adopted()
		if whole {
			return
		}
	}
}

func TestNoOrderOfEventsLosesAPodInAHandBack(t *testing.T) {
	for seed := range *races {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s, revert := fromCloneSet(t, gentle)
			s.changesHands(rand.New(rand.NewPCG(seed, 13)), revert)
			s.adopted()
		})
	}
}

func TestAHandBackIsToldBeforeItIsDone(t *testing.T) {
	s, revert := fromCloneSet(t, gentle)
	revert(image(0, "app:v2"), set1(int64(3), "spec", "replicas"), set1("InPlaceIfPossible", "metadata", "annotations", AnnotationUpdate))
	snap := s.snapshot(s.commit, s.cache("situ"))
	snap.Autoscalers = map[Ref]string{replicaSetRef(s.commit.Manifests[0].Ref): "horizontalpodautoscaler/web"}
	w := Decide(s.commit, snap).Workloads[0]
	told := strings.Join(w.Warnings, "\n")
	for _, want := range []string{"let its scaleTargetRef name apps/v1 Deployment web", "4 running pods are handed over to deployment/web", "1 of them are more than the 3 that Git wants"} {
		if !strings.Contains(told, want) {
			t.Errorf("the plan warns %q; want %q in it", told, want)
		}
	}
	if gone := removals(w); len(gone) != 1 || turnOf(w, gone[0]) != 2 {
		t.Errorf("%v go for good, want one, after the hand-over", gone)
	}
	if w.Verdict != Restart || len(w.Pods) != 4 {
		t.Errorf("the plan has %d pods, %s for %v; want 4, restart", len(w.Pods), w.Verdict, w.Reasons)
	}
}

func TestWhatHandsNothingBack(t *testing.T) {
	other := set1("more", "spec", "template", "metadata", "labels", "than")
	for _, tt := range []struct {
		name  string
		spoil func(s *story)
		want  string
	}{
		{"both in one commit", func(s *story) { s.commit.Manifests = append(s.commit.Manifests, hosting(t, gentle)) }, "is in the same commit"},
		{"another source", func(s *story) {
			s.update(s.of("ReplicaSet")[0], func(o map[string]any) { mapAt(o, "metadata", "annotations")[AnnotationSource] = "other" })
			s.commit.Source = "shop"
		}, "the source other has it"},
		{"a selector that is not quite the same", func(s *story) {
			s.push(edited(s.commit.Manifests[0], other, set1([]any{map[string]any{"key": "app", "operator": "Exists"}}, "spec", "selector", "matchExpressions")))
		}, "write the selector of replicaset/web here"},
		{"an update type that it would break", func(s *story) {
			s.change(set1("InPlaceOnly", "metadata", "annotations", AnnotationUpdate), env("b"))
		}, "InPlaceOnly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, revert := fromCloneSet(t, gentle)
			before := s.uids()
			revert()
			tt.spoil(s)
			s.catchUpAll("situ")
			s.decide()
			w := s.plan.Workloads[0]
			if w.Verdict != Refuse || w.State != Failed || len(w.Steps) > 0 || !strings.Contains(w.Text, tt.want) {
				t.Errorf("%s, %q with %d steps; want a refusal with %q", w.Verdict, w.Text, len(w.Steps), tt.want)
			}
			s.sameSince(before)
		})
	}
}

func TestADeploymentIsMadeBesideAHostWithOtherLabels(t *testing.T) {
	s, revert := fromCloneSet(t, gentle)
	revert(set1("other", "spec", "selector", "matchLabels", "app"), set1("other", "spec", "template", "metadata", "labels", "app"))
	s.settle(Settled)
}
