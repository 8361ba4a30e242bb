package planner

import (
	"slices"
	"strings"
	"testing"
)

const pausable = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {situ.gitops/update: InPlaceIfPossible}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: 'app:v1'}]}
`

// Whoever ends a pause by hand must not set off the controller: it would recreate
// what the plan says is patched.
func TestADeploymentPausedByHandKeepsItsTemplateButScales(t *testing.T) {
	from := manifest(t, pausable)
	to := manifest(t, strings.NewReplacer("v1'", "v2'", "replicas: 2", "replicas: 3").Replace(pausable))
	snap := Assume([]Manifest{from}, []Manifest{to})
	for _, object := range []map[string]any{snap.Live[to.Ref].Object.Object, snap.Proofs[to.Ref].Object.Object} {
		mapAt(object, "spec")["paused"] = true // Git does not set it, so it stays
	}
	plan := Decide(Commit{ID: "c2", Manifests: []Manifest{to}}, snap).Workloads[0]
	if plan.State != Progressing && plan.State != Held {
		t.Errorf("state is %s, want held", plan.State)
	}
	if names := actionNames(plan.Steps); !slices.Equal(names, []string{"scale"}) {
		t.Fatalf("actions are %v, want scale alone", names)
	}
	body := plan.Steps[0][0].Body.(map[string]any)
	if numberAt(body, 0, "spec", "replicas") != 3 || at(body, "spec", "template") != nil {
		t.Errorf("the body is %v, want three replicas and no template", body)
	}
}

// A pause that Git sets is ended by Git, and situ is there first.
func TestADeploymentPausedByGitIsApplied(t *testing.T) {
	from := manifest(t, pausable)
	to := manifest(t, strings.NewReplacer("v1'", "v2'", "replicas: 2", "paused: true").Replace(pausable))
	plan := Decide(Commit{ID: "c2", Manifests: []Manifest{to}}, Assume([]Manifest{from}, []Manifest{to})).Workloads[0]
	if names := actionNames(plan.Steps); !slices.Equal(names, []string{"apply"}) {
		t.Errorf("actions are %v, want apply alone", names)
	}
}

func actionNames(steps []Step) []string {
	var names []string
	for _, step := range steps {
		for _, action := range step {
			names = append(names, action.Name)
		}
	}
	return names
}
