package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// turn is one look at one pod: what a kubelet finds and decides at one moment.
type turn struct {
	kubelet *kubelet
	pod     *corev1.Pod
	now     time.Time
	again   time.Duration // until time alone changes something; 0 if it does not
}

// next is the status that the kubelet reports for the pod now, and how long
// until it would report another one although nothing happened to the pod.
func (k *kubelet) next(pod *corev1.Pod, address string, now time.Time) (corev1.PodStatus, time.Duration) {
	status := *pod.Status.DeepCopy()
	if finished(status.Phase) {
		return status, 0
	}
	t := &turn{kubelet: k, pod: pod, now: now}
	t.locate(&status, address)
	resize := t.resize()
	status.InitContainerStatuses = t.initContainers(status, resize)
	status.ContainerStatuses = t.containers(status, resize)
	status.Phase = t.phase(status)
	t.observeDeadline(&status)
	status.ObservedGeneration = pod.Generation
	t.judge(&status, resize)
	return status, t.again
}

// locate fills in where the pod is and since when.
func (t *turn) locate(status *corev1.PodStatus, address string) {
	if t.pod.Spec.HostNetwork {
		address = hostAddress
	}
	status.HostIP, status.HostIPs = hostAddress, []corev1.HostIP{{IP: hostAddress}}
	status.PodIP, status.PodIPs = address, []corev1.PodIP{{IP: address}}
	if status.StartTime == nil {
		start := metav1.NewTime(t.now.Truncate(time.Second))
		status.StartTime = &start
	}
}

// initContainers runs them in their order: each waits for the one before to be
// completed or, if it is a sidecar, to run.
func (t *turn) initContainers(status corev1.PodStatus, resize resizing) []corev1.ContainerStatus {
	initialized := begun(status)
	var statuses []corev1.ContainerStatus
	blocked := false
	for _, spec := range t.pod.Spec.InitContainers {
		old := statusOf(status.InitContainerStatuses, spec.Name)
		var now corev1.ContainerStatus
		switch {
		case blocked:
			now = waiting(spec, old, "PodInitializing")
		case sidecar(spec):
			now = t.container(spec, old, t.fate(spec), resize)
			blocked = !initialized && now.State.Running == nil
		case old != nil && (initialized || completed(*old)):
			now = *old // it does not run again, whatever its image is by now
		default:
			now = t.container(spec, old, t.fate(spec).ofInit(), resize)
			blocked = !completed(now)
		}
		statuses = append(statuses, now)
	}
	return statuses
}

// containers runs the others, once the init containers have made way.
func (t *turn) containers(status corev1.PodStatus, resize resizing) []corev1.ContainerStatus {
	ready := begun(status) || t.initialized(status)
	var statuses []corev1.ContainerStatus
	for _, spec := range t.pod.Spec.Containers {
		old := statusOf(status.ContainerStatuses, spec.Name)
		if !ready {
			statuses = append(statuses, waiting(spec, old, "PodInitializing"))
			continue
		}
		statuses = append(statuses, t.container(spec, old, t.fate(spec), resize))
	}
	return statuses
}

// initialized tells whether every init container has completed or, if it is a
// sidecar, been started.
func (t *turn) initialized(status corev1.PodStatus) bool {
	for _, spec := range t.pod.Spec.InitContainers {
		now := statusOf(status.InitContainerStatuses, spec.Name)
		if now == nil || sidecar(spec) && now.ContainerID == "" || !sidecar(spec) && !completed(*now) {
			return false
		}
	}
	return true
}

// phase sums the containers up as the kubelet does.
func (t *turn) phase(status corev1.PodStatus) corev1.PodPhase {
	ended, failed := 0, 0
	for _, container := range status.InitContainerStatuses {
		if terminated := container.State.Terminated; terminated != nil && terminated.ExitCode != 0 && !t.restarts(terminated.ExitCode) {
			return corev1.PodFailed
		}
	}
	for _, container := range status.ContainerStatuses {
		if container.State.Waiting != nil && container.LastTerminationState.Terminated == nil {
			return corev1.PodPending
		}
		if terminated := container.State.Terminated; terminated != nil && !t.restarts(terminated.ExitCode) {
			ended++
			if terminated.ExitCode != 0 {
				failed++
			}
		}
	}
	switch {
	case ended < len(status.ContainerStatuses):
		return corev1.PodRunning
	case failed > 0:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

// observeDeadline fails a pod that has been active for as long as it may be.
func (t *turn) observeDeadline(status *corev1.PodStatus) {
	seconds := t.pod.Spec.ActiveDeadlineSeconds
	if seconds == nil || finished(status.Phase) {
		return
	}
	if left := status.StartTime.Add(time.Duration(*seconds) * time.Second).Sub(t.now); left > 0 {
		t.lookAgain(left)
		return
	}
	for i, container := range status.ContainerStatuses {
		if container.State.Running != nil {
			status.ContainerStatuses[i] = t.end(container, 137, "Error", "")
		}
	}
	status.Phase = corev1.PodFailed
	status.Reason, status.Message = "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
}

// ending is how long a pod that is being deleted still takes to end.
func (k *kubelet) ending(pod *corev1.Pod, now time.Time) time.Duration {
	t := &turn{kubelet: k, pod: pod, now: now}
	var longest time.Duration
	for _, spec := range pod.Spec.Containers {
		began := k.firstSeen(pod, "end", spec, now)
		longest = max(longest, t.delay(spec).End-now.Sub(began))
	}
	return longest
}

func finished(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// begun tells whether the pod once got past its init containers.
func begun(status corev1.PodStatus) bool {
	for _, container := range status.ContainerStatuses {
		if container.ContainerID != "" {
			return true
		}
	}
	return false
}

func completed(status corev1.ContainerStatus) bool {
	return status.State.Terminated != nil && status.State.Terminated.ExitCode == 0
}

func sidecar(spec corev1.Container) bool {
	return spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func statusOf(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}
