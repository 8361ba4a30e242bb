package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

const (
	crashAfter    = 200 * time.Millisecond // from the start of a container that crashes
	completeAfter = time.Second            // from the start of one that ends by itself
	pullPatience  = 500 * time.Millisecond // from ErrImagePull to ImagePullBackOff
	longestPause  = time.Minute            // between two starts of one that crashes
)

// container is one container's next status: what runs goes on, unless the spec
// asks for another; what does not run is started, unless something forbids it.
func (t *turn) container(spec corev1.Container, old *corev1.ContainerStatus, fate Fate, resize resizing) corev1.ContainerStatus {
	status := waiting(spec, old, "ContainerCreating")
	switch {
	case status.State.Running != nil && !replaced(spec, status, resize):
		return t.goOn(spec, status, fate, resize)
	case status.State.Running != nil:
		status = t.end(status, 0, "Completed", "")
	case status.State.Terminated != nil && !sidecar(spec) && !t.restarts(status.State.Terminated.ExitCode):
		return status
	}
	return t.start(spec, status, fate, resize)
}

// replaced tells whether a running container has to make way for another.
func replaced(spec corev1.Container, status corev1.ContainerStatus, resize resizing) bool {
	return status.Image != spec.Image || resize.restarts(spec, status)
}

// waiting is the status of a container before its first start; one that had its
// first start keeps the status it has.
func waiting(spec corev1.Container, old *corev1.ContainerStatus, reason string) corev1.ContainerStatus {
	if old != nil && (old.ContainerID != "" || old.State.Waiting != nil && pullFailure(old.State.Waiting.Reason)) {
		return *old.DeepCopy()
	}
	no := false
	return corev1.ContainerStatus{
		Name: spec.Name, Image: spec.Image, Started: &no,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	}
}

// start starts a container, or tells what keeps it from starting.
func (t *turn) start(spec corev1.Container, status corev1.ContainerStatus, fate Fate, resize resizing) corev1.ContainerStatus {
	if fate == Missing {
		return t.failPull(spec, status)
	}
	if pause := t.crashPause(spec, status); pause > 0 {
		t.lookAgain(pause)
		message := fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", pauseAfter(status.RestartCount), spec.Name, t.pod.Name, t.pod.Namespace, t.pod.UID)
		return hold(status, "CrashLoopBackOff", message)
	}
	wanted := t.kubelet.firstSeen(t.pod, "start", spec, t.now)
	if delay := t.delay(spec).Start - t.now.Sub(wanted); delay > 0 {
		t.lookAgain(delay)
		return status
	}
	t.kubelet.unsee(t.pod, "start", spec)
	t.kubelet.unsee(t.pod, "pull", spec)
	return t.goOn(spec, t.begin(spec, status, resize), fate, resize)
}

// begin is the status of a container that has just been started.
func (t *turn) begin(spec corev1.Container, status corev1.ContainerStatus, resize resizing) corev1.ContainerStatus {
	if status.ContainerID != "" {
		status.RestartCount++
	}
	remember(&status)
	yes := true
	status.Image, status.ImageID = spec.Image, ImageID(spec.Image)
	status.ContainerID = "sim://" + string(uuid.NewUUID())
	status.Started, status.Ready = &yes, false
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(t.now)}}
	if !resize.refused() || status.Resources == nil {
		allocate(spec, &status)
	}
	t.kubelet.mark(t.pod, status.ContainerID, t.now)
	return status
}

// goOn is the status of a container that runs and keeps running, or comes to
// the end that its fate has in store.
func (t *turn) goOn(spec corev1.Container, status corev1.ContainerStatus, fate Fate, resize resizing) corev1.ContainerStatus {
	age := t.now.Sub(t.kubelet.moment(t.pod, status.ContainerID, status.State.Running.StartedAt))
	if end, ok := endings[fate]; ok {
		if age >= end.after {
			status = t.end(status, end.exitCode, end.reason, end.message(spec))
			status.Ready = fate == initialises // which is what ready means for these
			if fate != initialises && (sidecar(spec) || t.restarts(end.exitCode)) {
				return t.start(spec, status, fate, resize)
			}
			return status
		}
		t.lookAgain(end.after - age)
	}
	if !resize.refused() {
		allocate(spec, &status)
	}
	delay := t.delay(spec).Ready
	if !status.Ready && age < delay {
		t.lookAgain(delay - age)
		return status
	}
	status.Ready = fate == Runs || spec.ReadinessProbe == nil
	return status
}

// end is the status of a container that has just ended.
func (t *turn) end(status corev1.ContainerStatus, exitCode int32, reason, message string) corev1.ContainerStatus {
	no := false
	status.Started, status.Ready = &no, false
	status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: exitCode, Reason: reason, Message: message, ContainerID: status.ContainerID,
		StartedAt: status.State.Running.StartedAt, FinishedAt: metav1.NewTime(t.now),
	}}
	t.kubelet.mark(t.pod, "end of "+status.ContainerID, t.now)
	return status
}

// failPull is the status of a container whose image cannot be pulled. The old
// container, if there was one, has ended already: the kubelet pulls afterwards.
func (t *turn) failPull(spec corev1.Container, status corev1.ContainerStatus) corev1.ContainerStatus {
	if status.ContainerID == "" {
		status.Image = spec.Image
	}
	cause := fmt.Sprintf("failed to pull and unpack image %[1]q: failed to resolve reference %[1]q: %[1]s: not found", spec.Image)
	if patience := pullPatience - t.now.Sub(t.kubelet.firstSeen(t.pod, "pull", spec, t.now)); patience > 0 {
		t.lookAgain(patience)
		return hold(status, "ErrImagePull", "rpc error: code = NotFound desc = "+cause)
	}
	return hold(status, "ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: rpc error: code = NotFound desc = %s", spec.Image, cause))
}

func pullFailure(reason string) bool { return reason == "ErrImagePull" || reason == "ImagePullBackOff" }

// hold is the status of a container that is not started for a reason.
func hold(status corev1.ContainerStatus, reason, message string) corev1.ContainerStatus {
	remember(&status)
	status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	return status
}

// remember keeps how the last container ended, now that its state makes way.
func remember(status *corev1.ContainerStatus) {
	if status.State.Terminated != nil {
		status.LastTerminationState = corev1.ContainerState{Terminated: status.State.Terminated}
	}
}

// crashPause is how long a container that ended by itself still has to wait for
// its next start. Another image starts at once.
func (t *turn) crashPause(spec corev1.Container, status corev1.ContainerStatus) time.Duration {
	last := status.State.Terminated
	if waiting := status.State.Waiting; waiting != nil && waiting.Reason == "CrashLoopBackOff" {
		last = status.LastTerminationState.Terminated
	}
	if last == nil || status.Image != spec.Image || last.Reason == "Completed" && t.pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		return 0
	}
	ended := t.kubelet.moment(t.pod, "end of "+last.ContainerID, last.FinishedAt)
	return pauseAfter(status.RestartCount) - t.now.Sub(ended)
}

// pauseAfter doubles from one second on with every restart.
func pauseAfter(restarts int32) time.Duration {
	return min(time.Second<<min(restarts, 10), longestPause)
}

// restarts tells whether the pod wants a container back that ended like this.
func (t *turn) restarts(exitCode int32) bool {
	switch t.pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return exitCode != 0
	}
	return true
}

func (t *turn) lookAgain(in time.Duration) {
	if t.again == 0 || in < t.again {
		t.again = in
	}
}
