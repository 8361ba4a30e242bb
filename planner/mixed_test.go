package planner

import "testing"

func TestPodsOfTwoTemplatesAreBroughtToAThird(t *testing.T) {
	for _, kind := range []string{"Deployment", "StatefulSet", "ReplicaSet"} {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind), env("1"))
			s.settle(Settled)
			s.change(env("2"), annotate(AnnotationPartition, "3"))
			s.settle(Held)
			s.room = 1
			s.change(image(0, "app:v3"), annotate(AnnotationPartition, "0"))
			s.settle(Settled) // one restarts in place, three must be made anew
			if got := s.updatedPods("app:v3"); got != 4 {
				t.Errorf("%d of 4 pods are updated, want all", got)
			}
		})
	}
}

func TestABrokenPodThatMustBeMadeAnewKeepsNobodyWaiting(t *testing.T) {
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"} {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind))
			s.pull = PullNever
			s.settle(Settled)
			s.room = 1
			s.change(image(0, "app:missing"))
			s.settle(Failed)
			s.change(image(0, "app:v3"), env("2"))
			s.settle(Settled)
		})
	}
}
