package planner

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestAFailedUpdateThatIsTakenBackComesToRest(t *testing.T) {
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"} {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind), set1("revert", "metadata", "annotations", AnnotationOnFailure))
			s.pull = PullNever
			s.settle(Settled)
			before := s.uids()
			s.change(image(0, "app:missing"))
			s.settle(Failed)
			s.sameSince(before)
			for _, name := range s.members() {
				if got := s.pods[name].Spec.Containers[0].Image; got != "app:v1" {
					t.Errorf("pod %s has image %s, want that of before", name, got)
				}
			}
		})
	}
}

// What the kubelet said of the image before is no word about the one that a pod
// has just been given, be it said before it has seen that one or just after.
func TestAKubeletsOldWordBreaksNoUpdate(t *testing.T) {
	mark := Mark{At: time.Unix(100, 0), Restart: map[string]string{"app": ""}, Was: map[string]string{"app": "app:missing"},
		Passed: map[string][]string{"app": {"app:between"}}}
	for _, tt := range []struct {
		name     string
		message  string
		observed int64
		want     bool
	}{
		{"the spec is not seen yet", "", 1, false},
		{"it is seen, and the word is about the image before", `Back-off pulling image "app:missing"`, 2, false},
		{"it is seen, and the word is about an image in between", `Back-off pulling image "app:between"`, 2, false},
		{"it is seen, and the word is about the new image", `Back-off pulling image "app:v2"`, 2, true},
		{"it is seen, and the word names no image", "invalid", 2, true},
		{"an old kubelet does not tell what it has seen", "invalid", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Generation, pod.Status.ObservedGeneration = 2, tt.observed
			pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:v2"}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: tt.message},
			}}}
			got := progressOf(pod, mark, time.Unix(101, 0), 0, time.Minute)
			if got.broken != tt.want {
				t.Errorf("progressOf: broken = %t (%s), want %t", got.broken, got.text, tt.want)
			}
		})
	}
}

// A commit that nobody saw work is no place to go back to.
func TestARevertPassesOverATemplateThatNeverWorked(t *testing.T) {
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"} {
		for rounds := range 8 {
			t.Run(fmt.Sprintf("%s after %d rounds", kind, rounds), func(t *testing.T) {
				s := newStory(t, workload(t, kind), set1("revert", "metadata", "annotations", AnnotationOnFailure))
				s.pull = PullNever
				s.settle(Settled)
				s.change(image(0, "a:missing"))
				s.rounds(rounds)
				s.change(image(0, "b:missing"))
				s.settle(Failed)
				for _, name := range s.members() {
					if got := s.pods[name].Spec.Containers[0].Image; got != "app:v1" {
						t.Errorf("pod %s has image %s, want app:v1, the last that worked", name, got)
					}
				}
			})
		}
	}
}
