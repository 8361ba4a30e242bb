package planner

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// runsOnly is a pod of one container that the kubelet says to run, with the
// spec's image beside it. The kubelet has seen the spec.
func runsOnly(id, image, wanted string, started time.Time) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: types.UID("1"), Generation: 4},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: wanted}}},
		Status: corev1.PodStatus{ObservedGeneration: 4, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "web", ContainerID: id, Image: image,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}},
		}}},
	}
}

func TestAContainerInBetweenProvesNothing(t *testing.T) {
	patched := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before, after := patched.Add(-3*time.Second), patched.Add(3*time.Second)
	// The pod ran v1, was given v3 and, before anybody had seen that restart, v2.
	mark := Mark{
		At: patched, Restart: map[string]string{"web": "containerd://1"}, Was: map[string]string{"web": "app:v1"},
		Passed: map[string][]string{"web": {"app:v3"}},
	}
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		now  time.Time
		want bool
	}{
		{"the first container", runsOnly("containerd://1", "app:v1", "app:v2", before), after, false},
		{"the one in between", runsOnly("containerd://2", "app:v3", "app:v2", before), after, false},
		{"the one in between, which a slow kubelet started late", runsOnly("containerd://2", "app:v3", "app:v2", after), after.Add(time.Minute), false},
		{"the last one", runsOnly("containerd://3", "app:v2", "app:v2", after), after, true},
		{"the last one, by another name of its image", runsOnly("containerd://3", "app:stable", "app:v2", after), after, true},
		{"the last one, whose image is that in between by another name", runsOnly("containerd://3", "app:v3", "app:v2", after), after.Add(3 * time.Minute), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := proven(tt.pod, mark, "web", tt.now); got != tt.want {
				t.Errorf("proven = %t, want %t", got, tt.want)
			}
		})
	}
}

// The pod ran v1 and was given v2, v3 and v2 again, faster than the kubelet could follow.
func TestTheRightImageIsNoProofWhileAnotherOneIsOnItsWay(t *testing.T) {
	mark := Mark{
		Restart: map[string]string{"web": "containerd://1"}, Was: map[string]string{"web": "app:v1"},
		Passed: map[string][]string{"web": {"app:v2", "app:v3"}},
	}
	for _, tt := range []struct {
		seen int64
		want bool
	}{
		{3, false}, // v3's spec: it is about to stop this container
		{4, true},
		{0, true}, // it never tells
	} {
		pod := runsOnly("containerd://2", "app:v2", "app:v2", time.Time{})
		pod.Status.ObservedGeneration = tt.seen
		if got := proven(pod, mark, "web", time.Time{}); got != tt.want {
			t.Errorf("proven, with spec %d of 4 seen = %t, want %t", tt.seen, got, tt.want)
		}
	}
}

func TestAMarkRemembersImagesInBetween(t *testing.T) {
	pod := runsOnly("containerd://1", "app:v1", "app:v1", time.Time{})
	c := podCase{pod: pod, patched: []string{"web"}}
	for _, image := range []string{"app:v3", "app:v2"} {
		c.mark = markFor(c, "c1", "r1")
		pod.Spec.Containers[0].Image = image
	}
	got := markFor(c, "c1", "r1")
	if id, was := got.Restart["web"], got.Was["web"]; id != "containerd://1" || was != "app:v1" {
		t.Errorf("markFor: container %q of %q has to go away, want containerd://1 of app:v1", id, was)
	}
	for image, want := range map[string]bool{"app:v3": true, "app:v2": true, "app:v1": false} {
		if got.passed("web", image) != want {
			t.Errorf("markFor: passed(%q) = %t, want %t", image, !want, want)
		}
	}
}
