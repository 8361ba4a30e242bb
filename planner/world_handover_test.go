package planner

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// seeStrays is what a snapshot shows of things that nobody looks after, and of
// objects with the name of a workload.
func (w *world) seeStrays(commit Commit, v *view, snap *Snapshot) {
	snap.Namesakes, snap.Strays = map[Ref]Namesake{}, map[string]Strays{}
	for _, m := range commit.Manifests {
		for _, ref := range NamesakesOf(m) {
			if o := v.objects[ref]; o != nil {
				snap.Namesakes[ref] = Namesake{Object: o, Ours: w.fields[ref] != nil}
			}
		}
		if m.Hosting != nil {
			snap.Strays[m.Namespace] = v.strays(v.objects[m.Ref] == nil)
		}
	}
}

func (v *view) strays(noHost bool) Strays {
	var found Strays
	sets := map[types.UID]bool{}
	for _, o := range v.of("ReplicaSet") {
		sets[o.GetUID()] = true
		if lost(o) || o.GetAnnotations()[AnnotationHandedOver] != "" {
			found.Sets = append(found.Sets, o)
		}
	}
	for _, o := range v.of("ControllerRevision") {
		if lost(o) {
			found.Revisions = append(found.Revisions, o)
		}
	}
	for _, pod := range v.pods {
		owner := metav1.GetControllerOf(pod)
		if !isPull(pod) && (lost(pod) || noHost && owner.Kind == "ReplicaSet" && !sets[owner.UID]) {
			found.Pods = append(found.Pods, pod)
		}
	}
	slices.SortFunc(found.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func lost(o metav1.Object) bool {
	owner := metav1.GetControllerOf(o)
	return owner == nil || strings.HasPrefix(owner.APIVersion, groupKruise)
}

// orphan is the garbage collector: what an object owned stays, without an owner.
func (w *world) orphan(owner types.UID) {
	for _, o := range w.objects {
		if ref := metav1.GetControllerOf(o); ref != nil && ref.UID == owner {
			changed := &unstructured.Unstructured{Object: clone(o.Object).(map[string]any)}
			changed.SetOwnerReferences(nil)
			w.store(changed.Object)
		}
	}
	for _, pod := range w.podsOf(owner) {
		pod = pod.DeepCopy()
		pod.OwnerReferences = nil
		w.pods[pod.Name] = pod
	}
}

// adoptOrphans is what a ReplicaSet's controller does before it counts.
func (w *world) adoptOrphans(rs *unstructured.Unstructured) {
	selector := selectorOf(rs)
	if len(mapAt(rs.Object, "spec", "selector")) == 0 {
		return
	}
	for _, pod := range w.pods {
		if metav1.GetControllerOf(pod) == nil && !isPull(pod) && selector.Matches(labels.Set(pod.Labels)) {
			pod = pod.DeepCopy()
			pod.OwnerReferences = ownerRefs(rs)
			w.pods[pod.Name] = pod
		}
	}
}

// adoptSets is what a Deployment's controller does before it looks at its
// ReplicaSets: those without a controller become its own by their labels.
func (w *world) adoptSets(d *unstructured.Unstructured) []*unstructured.Unstructured {
	var adopted []*unstructured.Unstructured
	selector := selectorOf(d)
	for _, rs := range w.cache("deployment").of("ReplicaSet") {
		if metav1.GetControllerOf(rs) == nil && rs.GetDeletionTimestamp() == nil && w.objects[refOf(rs)] == rs && selector.Matches(labels.Set(rs.GetLabels())) {
			w.update(rs, func(o map[string]any) { mapAt(o, "metadata")["ownerReferences"] = ownerRefsJSON(d) })
			adopted = append(adopted, w.objects[refOf(rs)])
		}
	}
	return adopted
}

// doOwners patches owners: of a pod it takes the first away, of an object it sets all.
func (w *world) doOwners(a Action) {
	if pod := w.pods[a.Ref.Name]; a.Ref.Kind == "Pod" && pod != nil {
		pod = pod.DeepCopy()
		pod.OwnerReferences = pod.OwnerReferences[1:]
		w.pods[pod.Name] = pod
		return
	}
	object := clone(w.objects[a.Ref].Object).(map[string]any)
	mapAt(object, "metadata")["ownerReferences"] = clone(a.Body.([]any)[0].(map[string]any)["value"])
	w.store(object)
}
