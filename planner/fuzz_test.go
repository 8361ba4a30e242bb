package planner

import (
	"testing"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// FuzzDecide takes any two texts as templates of every kind, on pods that may be
// in any state: Decide never fails, and the same input gives the same plan.
func FuzzDecide(f *testing.F) {
	for _, file := range []string{
		`{metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "app:v1"}]}}`,
		`{metadata: {labels: {app: web}, finalizers: [a]}, spec: {containers: [{name: web, image: "app:v2@sha256:1"}], tolerations: [{key: a}], activeDeadlineSeconds: 5}}`,
		`{spec: {initContainers: [{name: mesh, image: mesh, restartPolicy: Always}], containers: [{name: a, image: x, env: [{name: A, value: $(B)}, {name: B}], ports: [{containerPort: 1}]}]}}`,
		`{metadata: {labels: {t: "1"}}, spec: {containers: [{name: a, image: x, resources: {requests: {cpu: 1000m}}, env: [{name: T, valueFrom: {fieldRef: {fieldPath: "metadata.labels['t']"}}}]}]}}`,
		`{metadata: null, spec: {containers: null, volumes: [{name: v}, {}]}}`,
		`{}`,
	} {
		f.Add([]byte(file), []byte(`{spec: {containers: [{name: web, image: "app:v2"}]}}`), uint8(0), false)
		f.Add([]byte(`{metadata: {labels: {t: "2"}}, spec: {containers: [{name: a, image: y}]}}`), []byte(file), uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, from, to []byte, kind uint8, unready bool) {
		before, okFrom := someWorkload(from, workloadKinds[int(kind)%len(workloadKinds)])
		after, okTo := someWorkload(to, workloadKinds[int(kind)%len(workloadKinds)])
		if !okFrom || !okTo {
			return
		}
		snap := Assume([]Manifest{before}, []Manifest{after})
		snap.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		for _, pods := range snap.Pods {
			for _, pod := range pods {
				if unready {
					makeUnready(pod)
				}
			}
		}
		commit := Commit{ID: "c", Manifests: []Manifest{after}}
		print := fingerprint(t, snap)
		plan := planJSON(t, Decide(commit, snap))
		if again := planJSON(t, Decide(commit, shuffled(snap))); again != plan {
			t.Errorf("the same input gave two plans:\n%s\n%s", plan, again)
		}
		if fingerprint(t, snap) != print {
			t.Error("Decide edited its snapshot")
		}
	})
}

// someWorkload wraps a template, or a bare pod, if the text is an object at all.
func someWorkload(text []byte, kind string) (Manifest, bool) {
	content, err := yaml.YAMLToJSON(text)
	if err != nil {
		return Manifest{}, false
	}
	template := map[string]any{}
	if err := utiljson.Unmarshal(content, &template); err != nil {
		return Manifest{}, false
	}
	object := map[string]any{"spec": map[string]any{"template": template}}
	if kind == "Pod" {
		object = template
	}
	ref := Ref{APIVersion: "apps/v1", Kind: kind, Namespace: "shop", Name: "web"}
	if kind == "Pod" {
		ref.APIVersion = "v1"
	}
	return Manifest{Ref: ref, Object: object}, true
}
