package nodes

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// kubelet remembers what a pod's status cannot hold: exact times, which the API
// rounds to seconds, and what tests have ordered. Losing the times is harmless.
type kubelet struct {
	mu      sync.Mutex
	moments map[types.UID]map[string]time.Time
	orders  orders
}

func newKubelet() kubelet {
	return kubelet{moments: map[types.UID]map[string]time.Time{}, orders: newOrders()}
}

// mark notes that something happened to the pod now.
func (k *kubelet) mark(pod *corev1.Pod, what string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.moments[pod.UID] == nil {
		k.moments[pod.UID] = map[string]time.Time{}
	}
	k.moments[pod.UID][what] = now
}

// moment is when something happened, as exactly as it is known.
func (k *kubelet) moment(pod *corev1.Pod, what string, recorded metav1.Time) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	if exact, ok := k.moments[pod.UID][what]; ok {
		return exact
	}
	return recorded.Time
}

// firstSeen is when this image of the container was first found to need
// something, such as a start; that is now if it was not found before.
func (k *kubelet) firstSeen(pod *corev1.Pod, need string, spec corev1.Container, now time.Time) time.Time {
	what := need + " " + spec.Name + " " + spec.Image
	seen := k.moment(pod, what, metav1.Time{})
	if seen.IsZero() {
		k.mark(pod, what, now)
		return now
	}
	return seen
}

// unsee ends a need.
func (k *kubelet) unsee(pod *corev1.Pod, need string, spec corev1.Container) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.moments[pod.UID], need+" "+spec.Name+" "+spec.Image)
}

func (k *kubelet) forget(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.moments, pod.UID)
}
