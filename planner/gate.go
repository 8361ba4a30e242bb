package planner

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GateReady is the readiness gate that keeps traffic away from a pod before its
// containers restart. OpenKruise names it so. situ owns this condition of a pod
// that has the gate, and no other: True on fresh pods, False before a restart,
// True again after the proof of the new containers.
const GateReady corev1.PodConditionType = "InPlaceUpdateReady"

func hasGate(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if gate.ConditionType == GateReady {
			return true
		}
	}
	return false
}

// gateOf is the gate's state and since when it is so.
func gateOf(pod *corev1.Pod) (corev1.ConditionStatus, time.Time) {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == GateReady {
			return c.Status, c.LastTransitionTime.Time
		}
	}
	return corev1.ConditionUnknown, time.Time{}
}

// closed says whether traffic has left the pod: the gate is False, the kubelet
// has made the pod unready for it, and the grace period since then is over.
// wake is when it will be, if only time is missing. Conditions tell whole
// seconds, rounded down, so a grace period takes up to one second more.
func (r *rollout) closed(pod *corev1.Pod) (ok bool, wake time.Time) {
	status, since := gateOf(pod)
	unready, ready := readySince(pod)
	if status != corev1.ConditionFalse || ready {
		return false, time.Time{}
	}
	over := latest(since, unready).Add(r.settings.Grace)
	if r.settings.Grace > 0 {
		over = over.Add(time.Second)
	}
	if r.now.Before(over) {
		return false, over
	}
	return true, time.Time{}
}

// turnGate writes the gate's condition.
func (r *rollout) turnGate(pod *corev1.Pod, status corev1.ConditionStatus) Action {
	name, reason, text := "open", "InPlaceUpdateDone", "let traffic to pod/"+pod.Name
	if status == corev1.ConditionFalse {
		name, reason, text = "close", "InPlaceUpdateStarts", "keep traffic away from pod/"+pod.Name+" before it restarts"
	}
	condition := map[string]any{
		"type": string(GateReady), "status": string(status), "reason": reason,
		"lastTransitionTime": metav1.NewTime(r.now).UTC().Format(time.RFC3339),
	}
	return Action{
		Name: name, Mode: StrategicPatch, Subresource: "status", Ref: podRef(pod), UID: pod.UID, Text: text,
		Body: map[string]any{
			"metadata": map[string]any{"uid": string(pod.UID)},
			"status":   map[string]any{"conditions": []any{condition}},
		},
	}
}

// openStep opens the gates of pods that are not on their way through a restart:
// fresh ones, proven ones, and those whose restart was called off.
func (r *rollout) openStep() Step {
	var step Step
	for i := range r.cases {
		c := &r.cases[i]
		status, _ := gateOf(c.pod)
		if !hasGate(c.pod) || status == corev1.ConditionTrue {
			continue
		}
		restarting := c.turn == 1 && (len(c.patched) > 0 || c.resizeRestarts) && c.verdict == Restart
		if restarting || r.keptAway(c) || unproven(c.pod, c.mark, r.now) != "" {
			continue
		}
		step = append(step, r.turnGate(c.pod, corev1.ConditionTrue))
	}
	return step
}
