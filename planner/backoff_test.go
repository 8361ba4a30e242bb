package planner

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// backsOff is a pod whose one container waits in back-off after another one has ended.
func backsOff(ended corev1.ContainerStateTerminated, policy corev1.ResourceResizeRestartPolicy) *corev1.Pod {
	pod := runsOnly("", "app:v2", "app:v2", time.Time{})
	pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: policy}}
	status := &pod.Status.ContainerStatuses[0]
	status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}}
	status.LastTerminationState.Terminated = &ended
	return pod
}

func TestABackOffIsACrashOnlyIfSomethingCrashed(t *testing.T) {
	patched := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before, after := metav1.NewTime(patched.Add(-time.Minute)), metav1.NewTime(patched.Add(2*time.Second))
	const stays, restarts = corev1.NotRequired, corev1.RestartContainer
	for _, tt := range []struct {
		name   string
		ended  corev1.ContainerStateTerminated
		policy corev1.ResourceResizeRestartPolicy
		broken bool
	}{
		{"the container that the patch has stopped", corev1.ContainerStateTerminated{ContainerID: "containerd://1", ExitCode: 2, StartedAt: before}, stays, false},
		{"one that is older than the patch", corev1.ContainerStateTerminated{ContainerID: "containerd://0", ExitCode: 143, StartedAt: before}, stays, false},
		{"the new one", corev1.ContainerStateTerminated{ContainerID: "containerd://2", ExitCode: 0, StartedAt: after}, stays, true},
		{"one that a resize may have stopped", corev1.ContainerStateTerminated{ContainerID: "containerd://2", ExitCode: 143, StartedAt: after}, restarts, false},
		{"one with a resize policy, by its own fault", corev1.ContainerStateTerminated{ContainerID: "containerd://2", ExitCode: 1, StartedAt: after}, restarts, true},
		{"one with a resize policy, without memory", corev1.ContainerStateTerminated{ContainerID: "containerd://2", ExitCode: 137, Reason: "OOMKilled", StartedAt: after}, restarts, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := backsOff(tt.ended, tt.policy)
			mark := Mark{At: patched, Restart: map[string]string{"web": "containerd://1"}, Was: map[string]string{"web": "app:v1"}}
			pod.Annotations = map[string]string{AnnotationState: jsonText(mark)}
			if got := brokenContainer(pod, []Mark{mark}); (got != "") != tt.broken {
				t.Errorf("brokenContainer = %q, want broken: %t", got, tt.broken)
			}
		})
	}
}

func TestABarePodHasArrivedWhenItsResourcesAreInForce(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := Template{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "web", "image": "app:v1", "resources": map[string]any{"limits": map[string]any{"cpu": "200m"}},
	}}}}
	for _, tt := range []struct {
		name              string
		inForce           string
		pending           string
		since             time.Time
		available, broken bool
	}{
		{"not seen by the kubelet yet", "100m", "", time.Time{}, false, false},
		{"in force", "200m", "", time.Time{}, true, false},
		{"put off", "100m", corev1.PodReasonDeferred, now.Add(-time.Minute), false, false},
		{"put off for too long", "100m", corev1.PodReasonDeferred, now.Add(-time.Hour), false, true},
		{"never", "100m", corev1.PodReasonInfeasible, now, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := runsOnly("containerd://1", "app:v1", "app:v1", now)
			pod.Spec.Containers[0].Resources.Limits = cpu("200m")
			pod.Status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{Limits: cpu(tt.inForce)}
			if tt.pending != "" {
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: tt.pending, LastTransitionTime: metav1.NewTime(tt.since),
				}}
			}
			r := &rollout{now: now, want: want, settings: Settings{Deadline: DefaultDeadline}, manifest: Manifest{Ref: Ref{Kind: "Pod"}}}
			c := podCase{pod: pod, current: true, progress: progress{available: true}}
			r.awaitResize(&c)
			if c.progress.available != tt.available || c.progress.broken != tt.broken {
				t.Errorf("awaitResize: available %t, broken %t (%s), want %t, %t", c.progress.available, c.progress.broken, c.progress.text, tt.available, tt.broken)
			}
		})
	}
}

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}
