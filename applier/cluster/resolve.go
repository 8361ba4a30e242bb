package cluster

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"situ.gitops/planner"
	"situ.gitops/planner/kruise"
)

// Resolve settles what only the cluster knows: which kinds live in a namespace,
// and which are not served. Namespaces are filled in or taken away, fields that
// only a server may set are dropped, and a kind that neither the cluster nor a
// CustomResourceDefinition of the same commit has becomes a problem.
// Call it before Snapshot; the commit that is handed in stays as it is.
func (c *Client) Resolve(ctx context.Context, commit planner.Commit) (planner.Commit, error) {
	coming := comingKinds(commit)
	resolved := commit
	resolved.Manifests, resolved.Problems = nil, append([]planner.Problem(nil), commit.Problems...)
	places := map[planner.Ref]planner.Origin{}
	manifests, unsupported, err := c.host(ctx, commit, coming)
	if err != nil {
		return planner.Commit{}, err
	}
	resolved.Problems = append(resolved.Problems, unsupported...)
	for _, manifest := range manifests {
		served, ok, err := c.kinds.lookup(ctx, manifest.Ref)
		if err != nil {
			return planner.Commit{}, err
		}
		namespaced := served.namespaced
		if !ok {
			if namespaced, ok = coming[[2]string{manifest.APIVersion, manifest.Kind}]; !ok {
				if problem, tells := unknownKind(manifest); tells {
					resolved.Problems = append(resolved.Problems, problem)
				}
				continue
			}
		}
		manifest = c.inPlace(manifest, namespaced)
		if first, ok := places[manifest.Ref]; ok {
			resolved.Problems = append(resolved.Problems, planner.Problem{Origin: manifest.Origin, Text: fmt.Sprintf(
				"%s is in %s already, once the default namespace is filled in; keep one of them", manifest.Ref, first)})
			continue
		}
		places[manifest.Ref] = manifest.Origin
		resolved.Manifests = append(resolved.Manifests, manifest)
	}
	return resolved, nil
}

// host replaces workloads of OpenKruise by the stock objects that host them,
// unless the cluster serves their kind, or the commit brings it. What no host can do
// is a problem.
func (c *Client) host(ctx context.Context, commit planner.Commit, coming map[[2]string]bool) ([]planner.Manifest, []planner.Problem, error) {
	var all []planner.Manifest
	var problems []planner.Problem
	for _, manifest := range commit.Manifests {
		if !kruise.Is(manifest.Ref) {
			all = append(all, manifest)
			continue
		}
		version, err := c.servedAs(ctx, commit, coming, manifest.Ref)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case version == manifest.APIVersion:
			all = append(all, manifest)
		case version != "":
			problems = append(problems, planner.Problem{Origin: manifest.Origin, Text: fmt.Sprintf(
				"OpenKruise is in this cluster and has the kind %s as %s, not as %s: write apiVersion: %[2]s, or update OpenKruise",
				manifest.Kind, version, manifest.APIVersion)})
		default:
			if unsupported := kruise.Unsupported(manifest); len(unsupported) > 0 {
				problems = append(problems, unsupported...)
				continue
			}
			all = append(all, kruise.Host(c.inPlace(manifest, kruise.Namespaced(manifest.Ref)))...)
		}
	}
	return all, problems, nil
}

// servedAs is the apiVersion that the cluster serves a kind of OpenKruise in, or
// that the commit brings: the manifest's own if it can be, "" if there is none.
// In whatever version it is there, OpenKruise runs its pods.
func (c *Client) servedAs(ctx context.Context, commit planner.Commit, coming map[[2]string]bool, ref planner.Ref) (string, error) {
	for _, version := range kruise.Versions(ref) {
		if _, comes := coming[[2]string{version, ref.Kind}]; comes {
			return version, nil
		}
		served, err := c.kinds.serves(ctx, commit.ID, planner.Ref{APIVersion: version, Kind: ref.Kind})
		if served || err != nil {
			return version, err
		}
	}
	return "", nil
}

// unknownKind says what to do about a kind that is not there. Of the objects that
// host a SidecarSet, the policy tells for both.
func unknownKind(manifest planner.Manifest) (problem planner.Problem, tells bool) {
	if h := manifest.Hosting; h != nil {
		return planner.Problem{Origin: manifest.Origin, Text: fmt.Sprintf(
			"%s needs the kind %s in %s, which this cluster does not serve: use Kubernetes 1.36 or newer, or install OpenKruise",
			h.Ref, manifest.Kind, manifest.APIVersion)}, h.Sidecars != nil
	}
	return planner.Problem{Origin: manifest.Origin, Text: fmt.Sprintf(
		"the cluster has no kind %s in %s: check the spelling, or add its CustomResourceDefinition to this repository or to the cluster",
		manifest.Kind, manifest.APIVersion)}, true
}

// comingKinds are those that the commit's own CustomResourceDefinitions bring,
// by apiVersion and kind; the value says whether they live in a namespace.
func comingKinds(commit planner.Commit) map[[2]string]bool {
	coming := map[[2]string]bool{}
	for _, manifest := range commit.Manifests {
		if manifest.Kind != "CustomResourceDefinition" || manifest.Group() != "apiextensions.k8s.io" {
			continue
		}
		group, _, _ := unstructured.NestedString(manifest.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(manifest.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(manifest.Object, "spec", "scope")
		versions, _, _ := unstructured.NestedFieldNoCopy(manifest.Object, "spec", "versions")
		list, _ := versions.([]any)
		for _, version := range list {
			fields, _ := version.(map[string]any)
			coming[[2]string{group + "/" + fmt.Sprint(fields["name"]), name}] = scope == "Namespaced"
		}
	}
	return coming
}

// serverFields of metadata are set by the API server alone; they come into Git
// with "kubectl get -o yaml" and would turn every write into a conflict.
var serverFields = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink"}

// inPlace gives the manifest with its final namespace and without server fields.
func (c *Client) inPlace(manifest planner.Manifest, namespaced bool) planner.Manifest {
	object := maps.Clone(manifest.Object)
	delete(object, "status")
	if isBuiltIn(manifest.Group()) {
		object = withoutNulls(object)
	}
	metadata, _ := object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{"name": manifest.Name}
	}
	for _, field := range serverFields {
		delete(metadata, field)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok && annotations[corev1.LastAppliedConfigAnnotation] != nil {
		annotations = maps.Clone(annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		metadata["annotations"] = annotations
	}
	delete(metadata, "namespace")
	if !namespaced {
		manifest.Namespace = ""
	} else {
		if manifest.Namespace == "" {
			manifest.Namespace = c.namespace
		}
		metadata["namespace"] = manifest.Namespace
	}
	object["metadata"] = metadata
	manifest.Object = object
	return manifest
}

// withoutNulls copies an object without its null fields. In a built-in kind null
// means absent, but a server-side apply of it writes at every repetition.
func withoutNulls(object map[string]any) map[string]any {
	kept := make(map[string]any, len(object))
	for field, value := range object {
		if value != nil {
			kept[field] = valueWithoutNulls(value)
		}
	}
	return kept
}

// isBuiltIn says whether a group is Kubernetes' own.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

func valueWithoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return withoutNulls(value)
	case []any:
		kept := make([]any, len(value))
		for i := range value {
			kept[i] = valueWithoutNulls(value[i])
		}
		return kept
	}
	return value
}
