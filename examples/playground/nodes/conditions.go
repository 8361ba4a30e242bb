package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// verdict is a condition before it is known whether it is new.
type verdict struct {
	kind    corev1.PodConditionType
	holds   bool
	reason  string
	message string
}

// judge sets the conditions that are a kubelet's. Those of others, such as
// readiness gates, are read and left alone.
func (t *turn) judge(status *corev1.PodStatus, resize resizing) {
	unready := t.unready(*status)
	containersReady := notReady(corev1.ContainersReady, "ContainersNotReady", "containers with unready status: ", unready)
	podReady := containersReady
	if gates := t.closedGates(*status); len(unready) == 0 && len(gates) > 0 {
		podReady = verdict{reason: "ReadinessGatesNotReady", message: strings.Join(gates, ", ")}
	}
	podReady.kind = corev1.PodReady
	initialized := verdict{kind: corev1.PodInitialized, holds: begun(*status) || t.initialized(*status)}
	if !initialized.holds {
		initialized.reason = "ContainersNotInitialized"
	}
	if finished(status.Phase) {
		containersReady = verdict{kind: corev1.ContainersReady, reason: "PodCompleted"}
		podReady = verdict{kind: corev1.PodReady, reason: "PodCompleted"}
	}
	for _, v := range []verdict{
		{kind: corev1.PodReadyToStartContainers, holds: true},
		{kind: corev1.PodScheduled, holds: true},
		initialized, containersReady, podReady,
	} {
		t.set(status, v)
	}
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending && !resize.refused()
	})
	if resize.refused() {
		t.set(status, verdict{corev1.PodResizePending, true, string(resize.outcome), resize.message})
	}
}

// set writes a condition; its transition time moves only when its status does.
func (t *turn) set(status *corev1.PodStatus, v verdict) {
	condition := corev1.PodCondition{
		Type: v.kind, Status: corev1.ConditionFalse, Reason: v.reason, Message: v.message,
		ObservedGeneration: t.pod.Generation, LastTransitionTime: metav1.NewTime(t.now.Truncate(time.Second)),
	}
	if v.holds {
		condition.Status = corev1.ConditionTrue
	}
	old := conditionOf(status.Conditions, v.kind)
	if old == nil {
		status.Conditions = append(status.Conditions, condition)
		return
	}
	if old.Status == condition.Status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	condition.LastProbeTime = old.LastProbeTime
	*old = condition
}

func notReady(kind corev1.PodConditionType, reason, what string, names []string) verdict {
	if len(names) == 0 {
		return verdict{kind: kind, holds: true}
	}
	return verdict{kind, false, reason, fmt.Sprintf("%s[%s]", what, strings.Join(names, " "))}
}

// unready names the containers and sidecars that are not ready.
func (t *turn) unready(status corev1.PodStatus) []string {
	var names []string
	for _, spec := range t.pod.Spec.InitContainers {
		if now := statusOf(status.InitContainerStatuses, spec.Name); sidecar(spec) && (now == nil || !now.Ready) {
			names = append(names, spec.Name)
		}
	}
	for _, spec := range t.pod.Spec.Containers {
		if now := statusOf(status.ContainerStatuses, spec.Name); now == nil || !now.Ready {
			names = append(names, spec.Name)
		}
	}
	return names
}

// closedGates says of every readiness gate that is not True why it is not.
func (t *turn) closedGates(status corev1.PodStatus) []string {
	var closed []string
	for _, gate := range t.pod.Spec.ReadinessGates {
		condition := conditionOf(status.Conditions, gate.ConditionType)
		switch {
		case condition == nil:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case condition.Status != corev1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, condition.Status))
		}
	}
	return closed
}
