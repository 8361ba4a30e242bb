package planner

import (
	"slices"
	"testing"
)

// breaking makes pods unready for good, whatever their kubelet says.
func (s *story) breaking(names ...string) {
	s.others = append(s.others, func() {
		for _, name := range names {
			if s.pods[name] == nil {
				continue
			}
			pod := s.pods[name].DeepCopy()
			makeUnready(pod)
			s.pods[name] = pod
		}
	})
}

// An update in place has broken a pod, and more pods of the old template are there
// than the partition keeps: the controller takes the broken one all the same.
func TestFewerPodsWhileAnUpdatedOneIsBrokenBesideAPartition(t *testing.T) {
	for replicas := range 4 {
		s := newStory(t, hosting(t, func(s *Settings) { s.Partition, s.MaxUnavailable = &Amount{Value: 2}, &Amount{Value: 1} }))
		s.pull = PullNever
		s.settle(Settled)
		s.change(image(0, "app:missing"))
		s.settle(Failed)
		broken := s.updated("app:missing")
		s.change(set1(int64(replicas), "spec", "replicas"))
		s.rounds(40)
		if got := s.members(); len(got) != replicas || slices.Contains(got, broken[0]) {
			t.Errorf("pods %v are left, want %d without the broken %s", got, replicas, broken[0])
		}
		if old := s.updatedPods("app:v1"); old < min(2, replicas) {
			t.Errorf("%d pods of %d have the old template, want those that the partition keeps", old, replicas)
		}
	}
}

// More pods are broken than go: their marks decide among them.
func TestFewerPodsWhileMoreThanThoseAreBroken(t *testing.T) {
	for replicas := range 4 {
		for broken := range 5 {
			s := newStory(t, hosting(t, func(s *Settings) { s.Hooks.BeforeDelete = &Hook{Finalizers: []string{drain}} }, withFinalizer))
			s.settle(Settled)
			before := s.uids()
			names := s.members()
			s.breaking(names[:broken]...)
			s.change(set1(int64(replicas), "spec", "replicas"))
			s.rounds(6)
			s.sameSince(before)
			prepared := s.at(stagePreparingDelete)
			s.others = append(s.others, s.playHooks)
			s.rounds(40)
			if got := s.members(); len(got) != replicas || s.madeSince(before) != 0 || slices.ContainsFunc(got, func(name string) bool { return slices.Contains(prepared, name) }) {
				t.Errorf("%d of 4 broken, %d wanted: pods %v are left of %v, of which %v were prepared, and %d were made", broken, replicas, got, names, prepared, s.madeSince(before))
			}
			for _, name := range s.members() {
				if replicas < 4-broken && slices.Contains(names[:broken], name) {
					t.Errorf("%d of 4 broken, %d wanted: the broken %s stays, and one that serves went", broken, replicas, name)
				}
			}
		}
	}
}

// The controller takes pods that are not ready first: as long as the hook of one
// holds it, it is not lowered for another.
func TestFewerPodsWhileTheHookOfABrokenOneHoldsIt(t *testing.T) {
	s := newStory(t, hosting(t, func(s *Settings) { s.Hooks.BeforeDelete = &Hook{Finalizers: []string{drain}} }, withFinalizer))
	s.settle(Settled)
	names := s.members()
	s.breaking(names[0])
	s.change(set1(int64(2), "spec", "replicas"))
	s.rounds(6)
	for _, name := range s.at(stagePreparingDelete) {
		if name != names[0] {
			s.letGo(name)
		}
	}
	s.rounds(20)
	if s.pods[names[0]] == nil {
		t.Fatalf("pod %s is gone, though its hook holds it", names[0])
	}
	s.letGo(names[0])
	s.rounds(20)
	if got := s.members(); len(got) != 2 {
		t.Errorf("pods %v are left, want 2", got)
	}
}
