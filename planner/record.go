package planner

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A ReplicaSet does not remember what its pods were made from once its template
// changes, so situ does: one ControllerRevision per template, owned by the
// workload and named after it. StatefulSets and DaemonSets keep such records
// themselves.

// records are the ControllerRevisions of a workload by the revision they hold.
type records map[string]*unstructured.Unstructured

func recordsOf(owned []*unstructured.Unstructured) records {
	found := records{}
	for _, o := range owned {
		if o.GetKind() == "ControllerRevision" {
			found[o.GetLabels()[LabelRevision]] = o
		}
	}
	return found
}

// record makes the ControllerRevision of a template.
func (r *rollout) record(t Template, name string) Action {
	metadata := map[string]any{
		"name":            recordPrefix(r.manifest) + name,
		"namespace":       r.manifest.Namespace,
		"labels":          map[string]any{LabelRevision: name},
		"ownerReferences": r.owner(),
	}
	ref := Ref{APIVersion: "apps/v1", Kind: "ControllerRevision", Namespace: r.manifest.Namespace, Name: metadata["name"].(string)}
	body := map[string]any{
		"apiVersion": ref.APIVersion, "kind": ref.Kind, "metadata": metadata,
		"revision": int64(1), "data": revisionData(t),
	}
	return Action{Name: "record", Mode: CreateOnly, Ref: ref, Body: body, Text: "remember the template of " + r.manifest.Ref.String()}
}

func recordPrefix(m Manifest) string { return m.Name + "-situ-" }

// owner makes the live workload the owner of a record.
func (r *rollout) owner() []any {
	return []any{map[string]any{
		"apiVersion": r.manifest.APIVersion, "kind": r.manifest.Kind, "name": r.manifest.Name,
		"uid": string(r.uid()), "controller": true, "blockOwnerDeletion": true,
	}}
}

// orphanRecords are the records of a hosted workload that were written down before
// there was a host, or that a Deployment has left.
func orphanRecords(m Manifest, snap Snapshot) []*unstructured.Unstructured {
	if m.Hosting == nil {
		return nil
	}
	var found []*unstructured.Unstructured
	for _, o := range snap.Strays[m.Namespace].Revisions {
		if strings.HasPrefix(o.GetName(), recordPrefix(m)) && o.GetLabels()[LabelRevision] != "" && len(o.GetOwnerReferences()) == 0 {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found
}

// adopt gives such records to the host, so that they end with it.
func (s *replicaSet) adopt(r *rollout) Step {
	var step Step
	for _, o := range s.orphans {
		step = append(step, Action{
			Name: "adopt", Mode: JSONPatch, Ref: refAt(o), UID: o.GetUID(), Text: "give controllerrevision/" + o.GetName() + " to " + r.manifest.Ref.String(),
			Body: []any{map[string]any{"op": "add", "path": "/metadata/ownerReferences", "value": r.owner()}},
		})
	}
	return step
}

// set is a ReplicaSet that carries pods, and the records of what it carried before.
type set struct {
	object  *unstructured.Unstructured
	records records
}

func (s set) template() Template { return templateOf(s.object.Object) }

// revision is the label that pods made now get, "" before situ came.
func (s set) revision() string {
	return textAt(s.object.Object, "spec", "template", "metadata", "labels", LabelRevision)
}

func (s set) base() string { return s.object.GetAnnotations()[AnnotationBaseRevision] }

// made finds the template that one of its pods was made from or last patched to.
func (s set) made(pod *corev1.Pod) made {
	return s.recorded(pod.Labels[LabelRevision])
}

// recorded finds a template by its revision label.
func (s set) recorded(label string) made {
	if label == s.revision() && (label != "" || s.base() == "") {
		return made{key: string(s.object.GetUID()) + "/now", from: s.object.Object, known: true}
	}
	if label == "" {
		label = s.base()
	}
	if record, ok := s.records[label]; ok {
		return made{key: label, from: mapAt(record.Object, "data"), known: true}
	}
	return made{}
}

// recordOld remembers what the set's pods were made from, before its template changes.
func (s set) recordOld(r *rollout) Step {
	name := s.revision()
	if name == "" {
		name = revision(s.template())
	}
	if _, known := s.records[name]; known {
		return nil
	}
	return Step{r.record(s.template(), name)}
}

// forget deletes records that no pod needs, but for the newest few.
func (s set) forget(r *rollout, keep int) Step {
	used := map[string]bool{s.revision(): true, s.base(): true, s.object.GetAnnotations()[AnnotationKeptRevision]: true, revision(r.want): true}
	for i := range r.cases {
		used[r.cases[i].pod.Labels[LabelRevision]] = true
	}
	var spare []*unstructured.Unstructured
	for _, name := range union(s.records, nil) {
		if !used[name] {
			spare = append(spare, s.records[name])
		}
	}
	slices.SortStableFunc(spare, func(a, b *unstructured.Unstructured) int {
		return b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time)
	})
	var step Step
	for i := keep; i < len(spare); i++ {
		step = append(step, Action{
			Name: "forget", Mode: Delete, UID: spare[i].GetUID(), Text: "forget a template that no pod has",
			Ref: Ref{APIVersion: "apps/v1", Kind: "ControllerRevision", Namespace: spare[i].GetNamespace(), Name: spare[i].GetName()},
		})
	}
	return step
}
