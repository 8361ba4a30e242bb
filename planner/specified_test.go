package planner

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func deleting(names ...string) func(*Settings) {
	return func(s *Settings) {
		s.Delete, s.MaxUnavailable = names, &Amount{Value: 1}
	}
}

// asking is the commit of now with other settings.
func (s *story) asking(ask func(*Settings), edits ...edit) {
	m := s.commit.Manifests[0]
	h := *m.Hosting
	ask(&h.Settings)
	m.Hosting = &h
	s.push(edited(m, edits...))
}

func (s *story) left(before map[string]types.UID) []string {
	return slices.DeleteFunc(union(before, nil), func(name string) bool { return s.pods[name] == nil || s.pods[name].UID != before[name] })
}

func TestExactlyThePodsThatAreNamedGoWhenFewerAreWanted(t *testing.T) {
	for n := 0; ; n++ {
		s := newStory(t, hosting(t, func(*Settings) {}))
		s.settle(Settled)
		before := s.uids()
		names := s.members()
		s.asking(deleting(names[1], names[2]), set1(int64(2), "spec", "replicas"))
		whole := s.crashAfter(n)
		s.settle(Settled)
		if got := s.left(before); !slices.Equal(got, []string{names[0], names[3]}) || s.madeSince(before) != 0 {
			t.Errorf("crash after %d actions: pods %v are left of %v, and %d were made; want all but those named", n, got, names, s.madeSince(before))
		}
		if w := s.plan.Workloads[0].Warnings; len(w) != 2 {
			t.Errorf("the warnings are %q, want one for each name that is gone", w)
		}
		if whole {
			return
		}
	}
}

func TestANamedPodIsReplacedWhereAsManyAreWanted(t *testing.T) {
	s := newStory(t, hosting(t, func(*Settings) {}))
	s.settle(Settled)
	before := s.uids()
	names := s.members()
	s.room = 1
	s.asking(deleting(names[1], names[2], "stranger"))
	s.settle(Settled)
	if got := s.left(before); !slices.Equal(got, []string{names[0], names[3]}) || len(s.members()) != 4 {
		t.Errorf("pods %v are left of %v and there are %d; want all but those named, and 4", got, names, len(s.members()))
	}
}

func TestALabelOnAPodDeletesItEvenWhileUpdatesArePaused(t *testing.T) {
	s := newStory(t, hosting(t, func(s *Settings) { s.Paused, s.MaxUnavailable = true, &Amount{Value: 1} }))
	s.settle(Settled)
	before := s.uids()
	name := s.members()[0]
	s.room = 1
	pod := s.pods[name].DeepCopy()
	pod.Labels[LabelDelete] = "true"
	s.pods[name] = pod
	s.settle(Settled)
	if got := s.left(before); len(got) != 3 || slices.Contains(got, name) {
		t.Errorf("pods %v are left, want all but %s", got, name)
	}
}

// The controller would take the pod that is not ready first: the named one is
// deleted by its UID.
func TestANamedPodGoesThoughAnotherIsNotReady(t *testing.T) {
	s := newStory(t, hosting(t, func(*Settings) {}))
	s.settle(Settled)
	before := s.uids()
	names := s.members()
	pod := s.pods[names[0]].DeepCopy()
	makeUnready(pod)
	s.pods[names[0]] = pod
	s.asking(deleting(names[3]), set1(int64(3), "spec", "replicas"))
	s.settle(Settled)
	if slices.Contains(s.left(before), names[3]) || len(s.members()) != 3 {
		t.Errorf("pods %v are left of %v, want 3 without the last", s.left(before), names)
	}
}

func TestAHookHoldsPodsThatAreTooMany(t *testing.T) {
	ask := func(s *Settings) { s.Hooks.BeforeDelete = &Hook{Finalizers: []string{drain}} }
	for n := 0; ; n++ {
		s := newStory(t, hosting(t, ask, withFinalizer))
		s.settle(Settled)
		before := s.uids()
		s.change(set1(int64(2), "spec", "replicas"))
		s.rounds(12)
		s.sameSince(before)
		prepared := s.at(stagePreparingDelete)
		if len(prepared) != 2 {
			t.Fatalf("stages are %v, want two that are prepared", s.stages())
		}
		s.others = append(s.others, s.playHooks)
		whole := s.crashAfter(n)
		s.settle(Settled)
		for _, name := range prepared {
			if s.pods[name] != nil {
				t.Errorf("crash after %d actions: pod %s was prepared, and is there still", n, name)
			}
		}
		if len(s.members()) != 2 || s.madeSince(before) != 0 {
			t.Errorf("%d pods are left and %d were made, want 2 and none", len(s.members()), s.madeSince(before))
		}
		if whole {
			return
		}
	}
}

func TestPodsThatWereTooManyStayWhenMoreAreWantedAgain(t *testing.T) {
	ask := func(s *Settings) { s.Hooks.BeforeDelete = &Hook{Finalizers: []string{drain}} }
	for rounds := range 12 {
		s := newStory(t, hosting(t, ask, withFinalizer))
		s.settle(Settled)
		before := s.uids()
		s.change(set1(int64(2), "spec", "replicas"))
		s.rounds(6)
		for _, name := range s.at(stagePreparingDelete) {
			s.letGo(name)
		}
		s.rounds(rounds)
		still := s.replicasNow() == 4
		s.change(set1(int64(4), "spec", "replicas"))
		s.settle(Settled)
		if still {
			s.sameSince(before)
		}
		for _, name := range s.members() {
			if pod := s.pods[name]; stageOf(pod) != stageNormal || leaves(pod) {
				t.Errorf("after %d rounds pod %s is %s, marked: %t; want it normal", rounds, name, stageOf(pod), leaves(pod))
			}
		}
	}
}
