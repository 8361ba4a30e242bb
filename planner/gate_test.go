package planner

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions tell whole seconds: the gate may have been closed at the very end of one.
func TestTheGracePeriodIsNeverShorterThanAsked(t *testing.T) {
	closed := time.Date(2026, 1, 1, 12, 0, 0, int(999*time.Millisecond), time.UTC)
	written := metav1.NewTime(closed.Truncate(time.Second))
	pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: GateReady, Status: corev1.ConditionFalse, LastTransitionTime: written},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: written},
	}}}
	const grace = 3 * time.Second
	for _, tt := range []struct {
		after time.Duration
		over  bool
	}{{grace - time.Millisecond, false}, {grace + time.Second, true}} {
		r := &rollout{now: closed.Add(tt.after), settings: Settings{Grace: grace}}
		if over, wake := r.closed(pod); over != tt.over || !over && !wake.After(r.now) {
			t.Errorf("closed, %s after the gate was = %t, wake in %s; want %t", tt.after, over, wake.Sub(r.now), tt.over)
		}
	}
}
