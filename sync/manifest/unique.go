package manifest

import (
	"fmt"
	"maps"
	"strings"

	"situ.gitops/planner"
)

// identity is what makes two manifests the same object: the version is only
// the form that it is written in.
type identity struct {
	group, kind, namespace, name string
}

// Unique leaves out every object that is defined more than once: believing the
// first or the last of them would be a guess. Parse has called it; who fills in
// namespaces afterwards calls it again.
func Unique(manifests []planner.Manifest) ([]planner.Manifest, []planner.Problem) {
	places := make(map[identity][]planner.Origin, len(manifests))
	for _, m := range manifests {
		id := identityOf(m)
		places[id] = append(places[id], m.Origin)
	}
	if len(places) == len(manifests) {
		return manifests, nil
	}
	var unique []planner.Manifest
	var problems []planner.Problem
	for _, m := range manifests {
		id := identityOf(m)
		switch len(places[id]) {
		case 0: // told at its first place
		case 1:
			unique = append(unique, m)
		default:
			problems = append(problems, planner.Problem{Text: clash(m.Ref, places[id])})
			places[id] = nil
		}
	}
	return unique, problems
}

func identityOf(m planner.Manifest) identity {
	return identity{m.Group(), m.Kind, m.Namespace, m.Name}
}

// clash names all places, so the problem needs no origin of its own.
func clash(ref planner.Ref, places []planner.Origin) string {
	var names []string
	for i, p := range places {
		if i == 0 || p != places[i-1] {
			names = append(names, p.String())
		}
	}
	if len(names) == 1 {
		return fmt.Sprintf("%s defines %s more than once; keep one", names[0], ref)
	}
	last := len(names) - 1
	both := "all"
	if len(names) == 2 {
		both = "both"
	}
	return fmt.Sprintf("%s and %s %s define %s; keep one, until then it is left as it is",
		strings.Join(names[:last], ", "), names[last], both, ref)
}

// InNamespace returns the manifest with its namespace filled in. The object
// handed in stays as it is.
func InNamespace(m planner.Manifest, namespace string) planner.Manifest {
	m.Namespace = namespace
	m.Object = maps.Clone(m.Object)
	metadata, _ := m.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["namespace"] = namespace
	m.Object["metadata"] = metadata
	return m
}
