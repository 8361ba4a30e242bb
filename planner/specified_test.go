package planner

import (
	"slices"
	"testing"
)

// halfway has two of four pods updated, where a partition keeps the others.
func halfway(t *testing.T) (s *story, old, updated []string) {
	t.Helper()
	s = newStory(t, hosting(t, func(s *Settings) { s.MaxUnavailable = &Amount{Value: 1} }))
	s.settle(Settled)
	s.asking(func(s *Settings) { s.Partition = &Amount{Value: 2} }, image(0, "app:v2"))
	s.settle(Held)
	for _, name := range s.members() {
		if s.pods[name].Spec.Containers[0].Image == "app:v1" {
			old = append(old, name)
		} else {
			updated = append(updated, name)
		}
	}
	if len(old) != 2 {
		t.Fatalf("%d of 4 pods are old, want 2", len(old))
	}
	return s, old, updated
}

// What takes the place of a named pod has the template that the named one had.
func TestANamedPodIsReplacedAtTheTemplateThatThePartitionWants(t *testing.T) {
	for _, which := range []string{"old", "updated"} {
		t.Run(which, func(t *testing.T) {
			s, old, updated := halfway(t)
			before := s.uids()
			name := map[string]string{"old": old[0], "updated": updated[0]}[which]
			s.room = 1
			s.asking(func(s *Settings) { s.Delete = []string{name} })
			s.settle(Held)
			if got := s.updatedPods("app:v2"); got != 2 || len(s.members()) != 4 {
				t.Errorf("%d of %d pods are updated, want 2 of 4", got, len(s.members()))
			}
			if left := s.left(before); len(left) != 3 || slices.Contains(left, name) {
				t.Errorf("pods %v are left, want all but %s", left, name)
			}
			if got := s.madeSince(before); got != 1 {
				t.Errorf("%d pods were made, want 1", got)
			}
			for _, name := range s.members() {
				if _, was := before[name]; !was && s.pods[name].Status.ContainerStatuses[0].RestartCount > 0 {
					t.Errorf("pod %s was made from the wrong template, and then updated", name)
				}
			}
		})
	}
}

func TestNamedPodsGoWhileUpdatesWaitForSomebodyToDelete(t *testing.T) {
	s := newStory(t, hosting(t, func(s *Settings) { s.OnDelete, s.MaxUnavailable = true, &Amount{Value: 1} }))
	s.settle(Settled)
	before := s.uids()
	s.asking(deleting(s.members()[0]), image(0, "app:v2"))
	s.settle(Held)
	if got := s.updatedPods("app:v2"); got != 1 || len(s.left(before)) != 3 {
		t.Errorf("%d pods are updated and %d are left, want 1 and 3", got, len(s.left(before)))
	}
}
