package planner

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Somebody has deleted the object, and a finalizer keeps it: neither is it as it
// should be, nor is there any use in writing to it.
func TestAnObjectThatIsBeingDeletedIsWaitedFor(t *testing.T) {
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: 'app:v1'}]}
`
	const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
`
	for _, text := range []string{deployment, configMap} {
		wanted := []Manifest{manifest(t, text)}
		snap := Assume(wanted, wanted)
		commit := Commit{ID: "c1", Manifests: wanted}
		if plan := Decide(commit, snap); plan.State != Settled {
			t.Fatalf("%s: state is %s before it is deleted, want settled", wanted[0].Ref, plan.State)
		}
		now := metav1.Now()
		snap.Live[wanted[0].Ref].Object.SetDeletionTimestamp(&now)
		plan := Decide(commit, snap)
		if plan.State != Waiting {
			t.Errorf("%s: state is %s, want waiting", wanted[0].Ref, plan.State)
		}
		for _, w := range plan.Workloads {
			if w.Text != goingText || len(w.Steps) > 0 {
				t.Errorf("%s: %q with %d steps, want %q and none", w.Ref, w.Text, len(w.Steps), goingText)
			}
		}
	}
}
