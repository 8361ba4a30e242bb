package planner

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

const podTemplate = `
    metadata: {labels: {app: web}, annotations: {config: a}}
    spec:
      containers:
      - {name: web, image: "app:v1"}
      - {name: tail, image: "tail:v1"}
`

const barePodText = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {config: a}}
spec:
  containers:
  - {name: web, image: "app:v1"}
  - {name: tail, image: "tail:v1"}
`

// workload is a manifest of one kind with four pods (a DaemonSet: one a node).
func workload(t testing.TB, kind string) Manifest {
	t.Helper()
	if kind == "Pod" {
		return manifest(t, barePodText)
	}
	text := fmt.Sprintf(`
apiVersion: apps/v1
kind: %s
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
%s`, kind, strings.TrimPrefix(podTemplate, "\n"))
	if kind == "DaemonSet" {
		text = strings.Replace(text, "  replicas: 4\n", "", 1)
	}
	return manifest(t, text)
}

var workloadKinds = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod"}

// onEachHost runs a story on every kind, from four settled pods.
func onEachHost(t *testing.T, tell func(t *testing.T, s *story), edits ...edit) {
	for _, kind := range workloadKinds {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind), edits...)
			s.settle(Settled)
			s.room = 1
			tell(t, s)
		})
	}
}

func TestImageChangeRestartsEachPodOnceInPlace(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.change(image(0, "app:v2"))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
		s.restarted(1, 0)
	})
}

func TestAnnotationChangeRestartsNothing(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.room = 0
		s.change(podAnnotation("config", "b"))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 0)
	})
}

// interrupted rounds: the next commit comes after any number of them.
func TestSecondCommitInTheMiddleLosesNothing(t *testing.T) {
	for rounds := range 8 {
		onEachHost(t, func(t *testing.T, s *story) {
			before := s.uids()
			s.change(image(0, "app:v2"))
			s.rounds(rounds)
			s.change(image(1, "tail:v2"), podAnnotation("config", "b"))
			s.settle(Settled)
			s.sameSince(before)
			s.restarted(0, 1)
			s.restarted(1, 1)
		})
	}
}

// rounds lets the world move on for a while.
func (s *story) rounds(n int) {
	for range n {
		s.tick()
		s.catchUpAll("situ")
		s.round()
	}
}

func TestRevertInTheMiddleRestartsOnlyPodsThatHadChanged(t *testing.T) {
	for rounds := range 8 {
		onEachHost(t, func(t *testing.T, s *story) {
			before := s.uids()
			s.change(image(0, "app:v2"))
			s.rounds(rounds)
			s.change(image(0, "app:v1"))
			s.settle(Settled)
			s.sameSince(before)
			s.restartedAtMost(0, 2)
		})
	}
}

func (s *story) restartedAtMost(i, times int) {
	s.t.Helper()
	for _, name := range s.members() {
		if got := s.pods[name].Status.ContainerStatuses[i].RestartCount; int(got) > times {
			s.t.Errorf("container %d of pod %s restarted %d times, want %d at most", i, name, got, times)
		}
	}
}

func TestRecreateInTheMiddleOfAnUpdateInPlaceKeepsTheBudget(t *testing.T) {
	for rounds := range 8 {
		onEachHost(t, func(t *testing.T, s *story) {
			before := s.uids()
			s.change(image(0, "app:v2"))
			s.rounds(rounds)
			s.change(env("debug"))
			s.settle(Settled)
			s.allNewSince(before)
			s.restarted(0, 0)
		})
	}
}

func TestUpdateInPlaceInTheMiddleOfARecreationSettles(t *testing.T) {
	for rounds := range 8 {
		onEachHost(t, func(t *testing.T, s *story) {
			before := s.uids()
			s.change(env("debug"))
			s.rounds(rounds)
			s.change(image(0, "app:v2"))
			s.settle(Settled)
			s.allNewSince(before)
			s.restartedAtMost(0, 1)
		})
	}
}

func (s *story) allNewSince(before map[string]types.UID) {
	s.t.Helper()
	for name, uid := range s.uids() {
		for _, old := range before {
			if uid == old {
				s.t.Errorf("pod %s was not recreated", name)
			}
		}
	}
}

func TestInPlaceOnlyRefusesBeforeAnyPodIsTouched(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before, written := s.uids(), s.writes
		s.change(env("debug"), image(0, "app:v2"))
		s.settle(Failed)
		s.sameSince(before)
		s.restarted(0, 0)
		if s.writes != written {
			t.Errorf("a refused commit wrote %d times", s.writes-written)
		}
		s.change(func(o map[string]any) { delete(containers(o)[0].(map[string]any), "env") })
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
	}, annotate(AnnotationUpdate, "InPlaceOnly"))
}

func TestReCreateReplacesPodsEvenForAnImage(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.change(image(0, "app:v2"))
		s.settle(Settled)
		s.allNewSince(before)
	}, annotate(AnnotationUpdate, "ReCreate"))
}

func TestFixReachesTheBrokenPodFirst(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.change(image(0, "app:missing"))
		s.settle(Failed)
		s.sameSince(before)
		s.change(image(0, "app:v2"))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
	})
}

func TestRevertOfABrokenImageSettles(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.change(image(0, "app:missing"))
		s.settle(Failed)
		s.change(image(0, "app:v1"))
		s.settle(Settled)
		s.sameSince(before)
		s.restartedAtMost(0, 1)
	})
}

func TestLostPodsComeBackWithTheWantedTemplate(t *testing.T) {
	for rounds := range 7 {
		onEachHost(t, func(t *testing.T, s *story) {
			s.room = -1
			s.change(image(0, "app:v2"))
			s.rounds(rounds)
			s.lose(s.members()[0])
			s.settle(Settled)
			s.restartedAtMost(0, 1)
		})
	}
}

// A kubelet that gets a change and its revert at once restarts nothing.
func TestRevertBeforeTheKubeletActsAwaitsNoRestart(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.pull = PullNever
		s.change(image(0, "app:v2"))
		for range 6 {
			s.tickControllers()
			s.catchUpAll("situ")
			s.round()
		}
		s.change(image(0, "app:v1"))
		for range 6 {
			s.tickControllers()
			s.catchUpAll("situ")
			s.round()
		}
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 0)
	})
}

func TestImageSetByHandIsTakenAsItIs(t *testing.T) {
	onEachHost(t, func(t *testing.T, s *story) {
		before := s.uids()
		name := s.members()[0]
		pod := s.pods[name].DeepCopy()
		pod.Spec.Containers[0].Image = "app:v2"
		pod.Generation++
		s.pods[name] = pod
		s.tick()
		s.change(image(0, "app:v2"))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
	})
}
