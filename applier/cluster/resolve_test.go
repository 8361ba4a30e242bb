package cluster

import (
	"testing"

	"situ.gitops/planner"
	"situ.gitops/planner/kruise"
)

// A SidecarSet is hosted by two objects of one group: where the server has neither,
// that is told once, by the set's own name and with the way out.
func TestAServerWithoutPoliciesIsToldOfOncePerSet(t *testing.T) {
	set := planner.Manifest{Ref: planner.Ref{APIVersion: "apps.kruise.io/v1beta1", Kind: "SidecarSet", Name: "mesh"}, Object: map[string]any{
		"metadata": map[string]any{"name": "mesh"},
		"spec": map[string]any{
			"selector":   map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"containers": []any{map[string]any{"name": "mesh", "image": "mesh:v1"}},
		},
	}}
	var told []string
	for _, m := range kruise.Host(set) {
		if problem, tells := unknownKind(m); tells {
			told = append(told, problem.Text)
		}
	}
	const want = "sidecarset/mesh needs the kind MutatingAdmissionPolicy in admissionregistration.k8s.io/v1, which this cluster does not serve:" +
		" use Kubernetes 1.36 or newer, or install OpenKruise"
	if len(told) != 1 || told[0] != want {
		t.Errorf("problems are %q, want %q", told, want)
	}
}
