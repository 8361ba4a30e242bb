package planner

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// A CloneSet that comes to a cluster without OpenKruise may find its pods running:
// its former controller is gone, or a Deployment of its name has them. Its host, a
// ReplicaSet, adopts pods that match its selector and have no controller, and
// nothing restarts. But it makes new pods for those that it may not adopt. So it
// comes last:
//
//  1. a Deployment is paused, so that it makes no ReplicaSet for those that go; what
//     its pods were made from is written down, and on the ReplicaSets that they are
//     on their way; then it is deleted, and what it owns stays
//  2. its ReplicaSets are deleted, and their pods stay
//  3. pods whose controller is of a kind that is served no longer lose that owner
//  4. the host is made, once nobody has the pods
//
// Each step is seen in the cluster, so that any of them can be the first one after
// a crash, and at no moment does a controller see pods too few or too many. From
// then on the pods are updated as any others, by what they were made from.
//
// A stock StatefulSet or DaemonSet adopts as well, but replaces pods by itself
// that it has not made: of what OpenKruise has left, they take over no more than
// the names and the nodes.
type handover struct {
	*rollout
	deployment Namesake
	sets       []*unstructured.Unstructured // ReplicaSets that have pods of it
	members    map[types.UID]int            // how many each of them has
	held       []*corev1.Pod                // that another object still has
	deserted   []*corev1.Pod                // whose ReplicaSet went just now
	free       []*corev1.Pod
	refusal    string // why nothing is handed over
	records    records
	origins    map[types.UID]origin // what is known of the templates of pods
}

// origin is what a pod was made from, or last patched to.
type origin struct {
	label    string // of its revision
	template Template
}

// Strays is what nobody looks after in a namespace: objects without a controller,
// or whose controller is of OpenKruise, or is gone.
type Strays struct {
	Pods      []*corev1.Pod
	Sets      []*unstructured.Unstructured // ReplicaSets, and those that are marked as handed over
	Revisions []*unstructured.Unstructured // ControllerRevisions
}

// newHandover finds pods for a host that is not there yet, nil if there are none.
func newHandover(r *rollout, snap Snapshot) *handover {
	if r.manifest.Hosting == nil {
		return nil
	}
	h := &handover{rollout: r, deployment: snap.Namesakes[deploymentRef(r.manifest.Ref)], members: map[types.UID]int{}}
	if h.deployment.Object != nil && !sameSelector(h.deployment.Object, r.proof.Object) {
		h.deployment = Namesake{}
	}
	strays := snap.Strays[r.manifest.Namespace]
	h.records = recordsOf(orphanRecords(r.manifest, snap))
	h.findSets(snap, strays)
	selector := selectorOf(r.proof.Object)
	for _, pod := range active(strays.Pods) {
		switch owner := metav1.GetControllerOf(pod); {
		case !selector.Matches(labels.Set(pod.Labels)), !h.mayAdopt(pod.Name):
		case owner == nil:
			h.free = append(h.free, pod)
		case was(r.manifest.Hosting.Ref, owner):
			h.held = append(h.held, pod)
		case owner.Kind == "ReplicaSet" && r.manifest.Kind == "ReplicaSet":
			h.deserted = append(h.deserted, pod)
		}
	}
	h.refusal = h.forbidden(snap)
	if h.refusal == "" && h.deployment.Object == nil && len(h.sets)+len(h.pods()) == 0 {
		return nil
	}
	byName := func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(h.held, byName)
	slices.SortFunc(h.free, byName)
	slices.SortFunc(h.deserted, byName)
	h.origins = map[types.UID]origin{}
	if h.replaces() {
		return h
	}
	for _, pod := range h.pods() {
		h.origins[pod.UID] = h.origin(pod, strays.Revisions)
	}
	return h
}

// givenAway: the host's name is taken by a ReplicaSet that the Deployment of that
// name had adopted, and that is no host any more.
func givenAway(m Manifest, live Live) bool {
	if m.Hosting == nil || m.Kind != "ReplicaSet" {
		return false
	}
	owner := metav1.GetControllerOf(live.Object)
	return owner != nil && owner.Kind == "Deployment" || live.Object.GetAnnotations()[AnnotationHandedOver] == handedTo(m)
}

// replaces: the host's controller replaces the pods that it adopts.
func (h *handover) replaces() bool { return h.manifest.Kind != "ReplicaSet" }

// mayAdopt: a StatefulSet goes by the names of pods, too.
func (h *handover) mayAdopt(pod string) bool {
	if h.manifest.Kind != "StatefulSet" {
		return true
	}
	number, ok := strings.CutPrefix(pod, h.manifest.Name+"-")
	_, err := strconv.Atoi(number)
	return ok && err == nil
}

func (h *handover) findSets(snap Snapshot, strays Strays) {
	if d := h.deployment.Object; d != nil {
		owned := snap.Owned[d.GetUID()]
		maps.Copy(h.records, recordsOf(owned))
		for _, o := range owned {
			if o.GetKind() == "ReplicaSet" {
				h.sets = append(h.sets, o)
			}
		}
	}
	if h.replaces() {
		return
	}
	for _, o := range strays.Sets {
		known := slices.ContainsFunc(h.sets, func(s *unstructured.Unstructured) bool { return s.GetUID() == o.GetUID() })
		if !known && o.GetAnnotations()[AnnotationHandedOver] == handedTo(h.manifest) && sameSelector(h.proof.Object, withoutHash(o)) {
			h.sets = append(h.sets, o)
		}
	}
	slices.SortFunc(h.sets, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, o := range h.sets {
		maps.Copy(h.records, recordsOf(snap.Owned[o.GetUID()]))
		pods := active(snap.Pods[o.GetUID()])
		h.members[o.GetUID()] = len(pods)
		h.held = append(h.held, pods...)
	}
}

func deploymentRef(r Ref) Ref {
	return Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: r.Namespace, Name: r.Name}
}

// was reports whether an owner is the workload that Git names, from before its
// kind went: no object of that kind can exist now.
func was(workload Ref, owner *metav1.OwnerReference) bool {
	return Ref{APIVersion: owner.APIVersion}.Group() == workload.Group() && owner.Kind == workload.Kind && owner.Name == workload.Name
}

// handedTo is how ReplicaSets remember who gets their pods.
func handedTo(m Manifest) string { return m.Named().Kind + "/" + m.Name }

func selectorOf(o *unstructured.Unstructured) labels.Selector {
	selector := metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(mapAt(o.Object, "spec", "selector"), &selector); err != nil {
		return labels.Nothing()
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return labels.Nothing()
	}
	return parsed
}

func sameSelector(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(mapAt(a.Object, "spec", "selector"), mapAt(b.Object, "spec", "selector"))
}

// withoutHash is a Deployment's ReplicaSet without the label that tells it from its siblings.
func withoutHash(o *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: withoutAt(o.Object, []string{"spec", "selector", "matchLabels", appsv1.DefaultDeploymentUniqueLabelKey})}
}

// pods are all that the host is going to have.
func (h *handover) pods() []*corev1.Pod { return slices.Concat(h.held, h.deserted, h.free) }

// origin asks who has the pod now, and the records that OpenKruise has left.
func (h *handover) origin(pod *corev1.Pod, left []*unstructured.Unstructured) origin {
	label := pod.Labels[LabelRevision]
	for _, o := range h.sets {
		s := set{object: o, records: h.records}
		if m := s.made(pod); ownedBy(pod, o) && m.known {
			return origin{firstOf(label, s.base(), s.revision(), revision(s.template())), templateOf(m.from)}
		}
	}
	if record, ok := h.records[label]; ok {
		return origin{label, templateOf(mapAt(record.Object, "data"))}
	}
	hash := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	for _, o := range left {
		if hash != "" && o.GetName() == h.manifest.Name+"-"+shortHash(hash) {
			// It is as people wrote it: whatever else it lacks, its pods were given by the server.
			whole := Defaults(Manifest{Ref: h.manifest.Ref, Object: mapAt(o.Object, "data")})
			template := templateOf(whole)
			return origin{revision(template), template}
		}
	}
	return origin{}
}
