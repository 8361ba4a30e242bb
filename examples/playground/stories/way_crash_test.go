package stories

import (
	"fmt"
	"strings"
	"testing"
)

// wayCrashes ends situ before and after every single action that brings a pod
// with a readiness gate through a resize and two batches, and starts it again.
func wayCrashes(t *testing.T, g *ground) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			walkTheWay(newTeller(t, g), when)
		})
	}
}

// wayActions are those that one pod's way has at least: pull, trial, template,
// resize, close, batch, patch, open, the pull's end, and the partition's.
const wayActions = 10

func walkTheWay(t teller, when string) {
	const selector = "app=web"
	t.commit("the shop opens", wayManifest(0))
	t.run("situ", "sync")
	for n := 1; ; n++ {
		pods, err := t.pods(selector)
		check(t.T, err)
		check(t.T, t.remember(selector, pods))
		t.commit(fmt.Sprintf("version %d", n), wayManifest(n))
		fault := fmt.Sprintf("%s:%d", when, n)
		killed := t.syncUntil(fault)
		if killed {
			t.run("situ", "sync")
		}
		if wrong := t.notKept(selector, map[string]bound{"first": {n: 1}, "second": {n: 1}}); len(wrong) > 0 {
			t.Fatalf("after the fault %s:\n%s", fault, strings.Join(wrong, "\n"))
		}
		t.assertArrived(n, fault)
		if !killed {
			t.Logf("%d actions", n-1)
			if n-1 < wayActions {
				t.Fatalf("the way had %d actions, want %d at least", n-1, wayActions)
			}
			return
		}
	}
}

// assertArrived wants every part of the commit to be on the pod, and its gate open.
func (t teller) assertArrived(n int, fault string) {
	t.Helper()
	t.run("kubectl", "rollout", "status", "statefulset/web", "--timeout=60s")
	pods, err := t.pods("app=web")
	check(t.T, err)
	for _, pod := range pods {
		version, amount := fmt.Sprintf("registry.playground/app:v%d", n), fmt.Sprintf("%dm", 100+n)
		if imageOf(pod, "first") != version || imageOf(pod, "second") != version || pod.Annotations["version"] != fmt.Sprint(n) {
			t.Fatalf("after the fault %s: images %s and %s, annotation %s; want version %d", fault, imageOf(pod, "first"), imageOf(pod, "second"), pod.Annotations["version"], n)
		}
		if in := statusOf(pod, "first").Resources.Requests.Cpu().String(); in != amount {
			t.Fatalf("after the fault %s: %s of cpu in force, want %s", fault, in, amount)
		}
		if gate := conditionIn(pod, "InPlaceUpdateReady"); gate != "True" {
			t.Fatalf("after the fault %s: the gate is %s", fault, gate)
		}
	}
	if left := t.run("kubectl", "get", "pods", "-o", "name", "-l", "situ.gitops/pull"); strings.Contains(left, "pod/") {
		t.Fatalf("after the fault %s: there are still\n%s", fault, left)
	}
	t.run("situ", "plan")
}

func wayManifest(n int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {version: "%[1]d"}}
    spec:
      terminationGracePeriodSeconds: 1
      readinessGates: [{conditionType: InPlaceUpdateReady}]
      containers:
      - name: first
        image: registry.playground/app:v%[1]d
        resources: {requests: {cpu: %[2]dm}}
        env: [{name: KRUISE_CONTAINER_PRIORITY, value: "1"}]
      - name: second
        image: registry.playground/app:v%[1]d
        env: [{name: VERSION, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['version']"}}}]
`, n, 100+n)
}
