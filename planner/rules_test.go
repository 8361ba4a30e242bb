package planner

import (
	"testing"

	"sigs.k8s.io/yaml"
)

const webYAML = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {config: a}}
    spec:
      containers:
      - name: web
        image: app:v1
        env: [{name: LOG, value: info}]
`

func manifest(t *testing.T, text string) Manifest {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return Manifest{
		Ref:    Ref{APIVersion: textAt(object, "apiVersion"), Kind: textAt(object, "kind"), Namespace: textAt(object, "metadata", "namespace"), Name: textAt(object, "metadata", "name")},
		Origin: Origin{File: "web.yaml", Document: 1}, Object: object,
	}
}

func TestSmoke(t *testing.T) {
	from := manifest(t, webYAML)
	to := from
	to.Object = with(from.Object, "b", "spec", "template", "metadata", "annotations", "config")
	items := at(to.Object, "spec", "template", "spec", "containers").([]any)
	items[0].(map[string]any)["image"] = "app:v2"
	plan := Decide(Commit{ID: "x", Manifests: []Manifest{to}}, Assume([]Manifest{from}, []Manifest{to}))
	out, _ := yaml.Marshal(plan)
	t.Log(string(out))
}
