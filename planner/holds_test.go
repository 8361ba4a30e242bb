package planner

import (
	"strings"
	"testing"
)

// updatedPods counts pods that run an image.
func (s *story) updatedPods(image string) int {
	n := 0
	for _, name := range s.members() {
		n += boolInt(s.pods[name].Spec.Containers[0].Image == image)
	}
	return n
}

func TestPartitionHoldsAndLoweringItGoesOn(t *testing.T) {
	for _, kind := range []string{"Deployment", "StatefulSet", "ReplicaSet"} {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind))
			s.settle(Settled)
			before := s.uids()
			s.room = 1
			s.change(image(0, "app:v2"), annotate(AnnotationPartition, "3"))
			s.settle(Held)
			if got := s.updatedPods("app:v2"); got != 1 {
				t.Errorf("%d of 4 pods are updated with partition 3, want 1", got)
			}
			s.change(annotate(AnnotationPartition, "50%"))
			s.settle(Held)
			if got := s.updatedPods("app:v2"); got != 2 {
				t.Errorf("%d of 4 pods are updated with partition 50%%, want 2", got)
			}
			s.change(annotate(AnnotationPartition, "0"))
			s.settle(Settled)
			s.sameSince(before)
			s.restarted(0, 1)
		})
	}
}

func TestStatefulSetKeepsItsLowestOrdinalsAndItsOwnPartition(t *testing.T) {
	s := newStory(t, workload(t, "StatefulSet"), set1(int64(5), "spec", "ordinals", "start"))
	s.settle(Settled)
	before := s.uids()
	s.room = 1
	s.change(image(0, "app:v2"), set1(int64(2), "spec", "updateStrategy", "rollingUpdate", "partition"))
	s.settle(Held)
	for name, want := range map[string]string{"web-5": "app:v1", "web-6": "app:v1", "web-7": "app:v2", "web-8": "app:v2"} {
		if got := s.pods[name].Spec.Containers[0].Image; got != want {
			t.Errorf("pod %s runs %s, want %s", name, got, want)
		}
	}
	if live := s.objects[s.commit.Manifests[0].Ref]; numberAt(live.Object, -1, "spec", "updateStrategy", "rollingUpdate", "partition") != 2 {
		t.Errorf("the partition was not put back to Git's: %v", live.Object["spec"])
	}
	s.change(func(o map[string]any) { delete(mapAt(o, "spec"), "updateStrategy") })
	s.settle(Settled)
	s.sameSince(before)
	s.restarted(0, 1)
}

func TestPausedDeploymentUpdatesNothingButScales(t *testing.T) {
	s := newStory(t, workload(t, "Deployment"), set1(true, "spec", "paused"))
	s.change(set1(false, "spec", "paused"))
	s.settle(Settled)
	before := s.uids()
	s.change(image(0, "app:v2"), set1(true, "spec", "paused"))
	s.settle(Held)
	s.sameSince(before)
	s.restarted(0, 0)
	s.change(set1(int64(6), "spec", "replicas"))
	s.settle(Held)
	if got := len(s.members()); got != 6 {
		t.Errorf("a paused Deployment has %d pods, want 6", got)
	}
	s.change(set1(false, "spec", "paused"))
	s.settle(Settled)
	for name, uid := range before {
		if s.pods[name] == nil || s.pods[name].UID != uid {
			t.Errorf("pod %s was recreated", name)
		}
	}
}

func TestOneReplicaWithoutRoomIsReplacedBySurge(t *testing.T) {
	s := newStory(t, workload(t, "Deployment"), set1(int64(1), "spec", "replicas"))
	s.settle(Settled)
	before := s.uids()
	s.room = 0
	s.change(image(0, "app:v2"))
	s.settle(Settled)
	s.allNewSince(before)
}

func TestOneReplicaRestartsInPlaceWhereItWasAskedFor(t *testing.T) {
	s := newStory(t, workload(t, "Deployment"), set1(int64(1), "spec", "replicas"), annotate(AnnotationUpdate, "InPlaceIfPossible"))
	s.settle(Settled)
	before := s.uids()
	s.room = 1
	s.change(image(0, "app:v2"))
	s.settle(Settled)
	s.sameSince(before)
	s.restarted(0, 1)
}

func TestOnDeleteIsRespectedUntilSomebodyDeletes(t *testing.T) {
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind), set1("OnDelete", "spec", "updateStrategy", "type"))
			s.settle(Settled)
			before := s.uids()
			s.change(image(0, "app:v2"))
			s.settle(Held)
			s.sameSince(before)
			s.restarted(0, 0)
			for _, name := range s.members() {
				s.lose(name)
			}
			s.settle(Settled)
			s.restarted(0, 0)
		})
	}
}

func TestScalingInTheSameCommitSettles(t *testing.T) {
	for _, kind := range []string{"Deployment", "StatefulSet", "ReplicaSet"} {
		for name, replicas := range map[string]int64{"up": 6, "down": 2, "to nothing": 0} {
			t.Run(kind+" "+name, func(t *testing.T) {
				s := newStory(t, workload(t, kind))
				s.settle(Settled)
				s.change(image(0, "app:v2"), set1(replicas, "spec", "replicas"), annotate(AnnotationMaxUnavailable, "1"))
				s.settle(Settled)
				s.restartedAtMost(0, 1)
				if got := len(s.members()); got != int(replicas) {
					t.Errorf("%d pods, want %d", got, replicas)
				}
			})
		}
	}
}

// The promise that had room for one restart has none after scaling down: nobody
// is surprised, and a person can say how to go on.
func TestAPromiseThatShrinksInTheMiddleHoldsWithAReason(t *testing.T) {
	s := newStory(t, workload(t, "Deployment"))
	s.settle(Settled)
	before := s.uids()
	s.change(image(0, "app:v2"))
	for rounds := 0; s.updatedPods("app:v2") == 0 && rounds < 40; rounds++ {
		s.rounds(1)
	}
	s.change(set1(int64(2), "spec", "replicas"))
	s.settle(Held)
	if text := s.plan.Workloads[0].Text; !strings.Contains(text, "no room") {
		t.Errorf("the plan says %q, not why it holds", text)
	}
	s.change(annotate(AnnotationUpdate, "InPlaceIfPossible"))
	s.settle(Settled)
	for name, uid := range s.uids() {
		if before[name] != uid {
			t.Errorf("pod %s was recreated", name)
		}
	}
	s.restarted(0, 1)
}

func TestGateKeepsTrafficAwayBeforeTheRestartAndNotForMetadata(t *testing.T) {
	gate := func(o map[string]any) {
		spec := mapAt(o, "spec")
		if o["kind"] != "Pod" {
			spec = mapAt(o, "spec", "template", "spec")
		}
		spec["readinessGates"] = []any{map[string]any{"conditionType": string(GateReady)}}
	}
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.change(image(0, "app:v2"), annotate(AnnotationGrace, "30s"))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
		s.room = 0
		s.change(podAnnotation("config", "b"))
		s.settle(Settled)
		s.sameSince(before)
	}, gate)
}

func TestPrioritiesRestartInBatchesOnce(t *testing.T) {
	ordered := podAnnotation(priorityAnnotation, "Ordered")
	for rounds := range 7 {
		onEachHost(t, func(t *testing.T, s *story) {
			before := s.uids()
			s.change(image(0, "app:v2"), image(1, "tail:v2"))
			s.rounds(rounds)
			s.change(podAnnotation("config", "c"), image(1, "tail:v3"))
			s.settle(Settled)
			s.sameSince(before)
			s.restarted(0, 1)
			s.restartedAtMost(1, 2)
		}, ordered)
	}
}

func TestAMissingImageStopsNothingWhereItIsPulledFirst(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.room = 0
		s.change(image(0, "app:missing"))
		s.settle(Failed)
		s.sameSince(before)
		if text := s.plan.Workloads[0].Text; !strings.Contains(text, "no such tag") {
			t.Errorf("the plan says %q, not what the kubelet said", text)
		}
		s.room = 1
		s.change(image(0, "app:v2"))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
		if got := len(s.pods) - len(s.members()); got != 0 {
			t.Errorf("%d pods that only pull are left", got)
		}
	})
}

func TestAMissingImageBreaksOnePodWithoutThePull(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.pull = PullNever
		s.change(image(0, "app:missing"))
		s.settle(Failed)
		if got := s.updatedPods("app:missing"); got != 1 {
			t.Errorf("%d pods have the missing image, want 1: the rollout goes on though it is broken", got)
		}
		s.change(image(0, "app:v2"))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
	})
}
