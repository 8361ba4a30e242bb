package stories

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// backOffPod restarts with every version and with every change of its limit.
const backOffPod = `apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: registry.playground/app:%s
    resources: {requests: {cpu: 10m}, limits: {cpu: %s}}
    resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]
`

// backOffs tells of restarts in a quick row. The kubelet remembers when it last
// started a container from the same spec, and lets the next start wait; it calls
// that CrashLoopBackOff, though nothing has crashed. No commit may end as failed
// for it.
func backOffs(t *testing.T, g *ground) {
	for _, tt := range []struct {
		name   string
		values [2][2]string // version and limit, in turns
	}{
		{"by images", [2][2]string{{"v1", "100m"}, {"v2", "100m"}}},
		{"by resizes", [2][2]string{{"v1", "100m"}, {"v1", "200m"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			restartUntilBackOff(newTeller(t, g), tt.values)
		})
	}
}

// restartUntilBackOff restarts until the kubelet has let one of them wait.
func restartUntilBackOff(t teller, values [2][2]string) {
	const most = 12
	commit := func(turn int) string {
		t.commit(fmt.Sprint("turn ", turn), fmt.Sprintf(backOffPod, values[turn%2][0], values[turn%2][1]))
		return t.run("situ", "sync")
	}
	commit(0)
	for turn := 1; turn <= most; turn++ {
		said := commit(turn)
		check(t.T, t.witness.catchUp(t.story.ctx))
		pods, err := t.pods("app=web")
		check(t.T, err)
		if len(pods) != 1 || restartsOf(pods[0])["app"] != turn {
			t.Fatalf("after %d updates in place: %d pods, want one that was restarted as often:\n%s%s", turn, len(pods), said, t.run("kubectl", "get", "pods", "-o", "yaml"))
		}
		if t.witness.waited("CrashLoopBackOff") {
			t.Logf("restart %d had to wait", turn)
			return
		}
	}
	t.Fatalf("no back-off in %d restarts: nothing is proven", most)
}

// waited: a container was seen to wait for this reason.
func (w *witness) waited(reason string) bool {
	for _, event := range w.testimony() {
		pod := event.Object.(*corev1.Pod)
		if slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
			return status.State.Waiting != nil && status.State.Waiting.Reason == reason
		}) {
			return true
		}
	}
	return false
}
