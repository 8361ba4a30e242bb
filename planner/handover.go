package planner

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

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
type handover struct {
	*rollout
	deployment Namesake
	sets       []*unstructured.Unstructured // ReplicaSets that have pods of it
	held       []*corev1.Pod                // that another object still has
	deserted   []*corev1.Pod                // whose ReplicaSet went just now
	free       []*corev1.Pod
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
	if r.manifest.Hosting == nil || r.manifest.Kind != "ReplicaSet" {
		return nil
	}
	h := &handover{rollout: r, deployment: snap.Namesakes[deploymentRef(r.manifest.Ref)]}
	if h.deployment.Object != nil && !sameSelector(h.deployment.Object, r.proof.Object) {
		h.deployment = Namesake{}
	}
	strays := snap.Strays[r.manifest.Namespace]
	h.records = recordsOf(orphanRecords(r.manifest, snap))
	h.findSets(snap, strays)
	selector := selectorOf(r.proof.Object)
	for _, pod := range active(strays.Pods) {
		switch owner := metav1.GetControllerOf(pod); {
		case !selector.Matches(labels.Set(pod.Labels)):
		case owner == nil:
			h.free = append(h.free, pod)
		case was(r.manifest.Hosting.Ref, owner):
			h.held = append(h.held, pod)
		case owner.Kind == "ReplicaSet":
			h.deserted = append(h.deserted, pod)
		}
	}
	if h.deployment.Object == nil && len(h.sets)+len(h.pods()) == 0 {
		return nil
	}
	byName := func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(h.held, byName)
	slices.SortFunc(h.free, byName)
	slices.SortFunc(h.deserted, byName)
	h.origins = map[types.UID]origin{}
	for _, pod := range h.pods() {
		h.origins[pod.UID] = h.origin(pod, strays.Revisions)
	}
	return h
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
	for _, o := range strays.Sets {
		known := slices.ContainsFunc(h.sets, func(s *unstructured.Unstructured) bool { return s.GetUID() == o.GetUID() })
		if !known && o.GetAnnotations()[AnnotationHandedOver] == handedTo(h.manifest) && sameSelector(h.proof.Object, withoutHash(o)) {
			h.sets = append(h.sets, o)
		}
	}
	slices.SortFunc(h.sets, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, o := range h.sets {
		h.held = append(h.held, active(snap.Pods[o.GetUID()])...)
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

// plan says what becomes of each pod, and takes the next step.
func (h *handover) plan(plan *WorkloadPlan, snap Snapshot, wake *time.Time) {
	if why := h.forbidden(snap); why != "" {
		plan.Create, plan.State, plan.Verdict, plan.Text = false, Failed, Refuse, "refused: "+why
		plan.Reasons = []Reason{{Rule: "hand-over", Text: why}}
		return
	}
	predicted := *h.rollout
	object := h.proof.Object
	if h.foreignReplicas() {
		object = &unstructured.Unstructured{Object: with(object.Object, int64(len(h.pods())), "spec", "replicas")}
	}
	predicted.live = Live{Object: object}
	host := &handed{replicaSet: replicaSet{set: set{object: object}, members: h.pods(), count: numberAt(object.Object, 1, "spec", "replicas")}, origins: h.origins}
	predicted.assess(host, snap)
	predicted.schedule(host, newDisruptions(snap.Disruptions[h.manifest.Namespace], predicted.cases))
	predicted.report(plan, wake)
	if plan.Verdict == Refuse {
		return
	}
	text, steps := h.next()
	plan.State, plan.Text, plan.Steps = Progressing, text, steps
	plan.Warnings = append(slices.Clip(plan.Warnings), fmt.Sprintf("%d running pods are handed over to %s; none of them restarts for that", len(h.pods()), host))
}

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

// handed is the host to be, with the pods that it is going to have.
type handed struct {
	replicaSet
	origins map[types.UID]origin
}

func (s *handed) made(pod *corev1.Pod) made {
	from := s.origins[pod.UID]
	if from.template == nil {
		return made{}
	}
	return made{key: from.label, known: true, from: map[string]any{"spec": map[string]any{"template": map[string]any(from.template)}}}
}

// forbidden is why nothing is handed over, "" if it is.
func (h *handover) forbidden(snap Snapshot) string {
	d := h.deployment
	if d.Object == nil || d.Object.GetDeletionTimestamp() != nil {
		return ""
	}
	short := "deployment/" + d.Object.GetName()
	if wanted := slices.ContainsFunc(h.commit.Manifests, func(m Manifest) bool { return m.Ref == deploymentRef(h.manifest.Ref) }); wanted {
		return short + " of the same commit has the same selector, and both would make its pods: remove one of them"
	}
	if source := foreignSource(h.commit, d.Object); source != "" && !taken(h.commit, source) {
		return short + " has the pods that the selector matches: " + foreignText(source)
	}
	if !d.Ours && h.settings.TakeOver != "Deployment" {
		return short + " has the pods that the selector matches, and situ has not made it: annotation " + AnnotationTakeOver +
			": Deployment hands its pods over and deletes it; or delete it yourself, with its pods"
	}
	return ""
}

// next is what the hand-over waits for, and what is done now.
func (h *handover) next() (string, []Step) {
	d := h.deployment.Object
	switch {
	case d != nil && d.GetDeletionTimestamp() != nil:
		return "waits for deployment/" + d.GetName() + " to let go of its ReplicaSets", nil
	case d != nil && at(d.Object, "spec", "paused") != true:
		pause := (&deployment{object: d}).pause()
		pause.Text = "pause deployment/" + d.GetName() + " before its pods change hands"
		return "pausing the Deployment", steps(Step{pause})
	case d != nil && !observed(d):
		return "waits for the Deployment's controller to see the pause", nil
	case d != nil:
		return handing, steps(h.record(), h.mark(), Step{{
			Name: "hand-over", Mode: Delete, Orphan: true, Ref: refAt(d), UID: d.GetUID(),
			Text: "delete deployment/" + d.GetName() + "; its ReplicaSets and pods stay",
		}})
	case len(h.sets) > 0:
		return handing, steps(h.record(), h.mark(), h.dissolve())
	case len(h.deserted) > 0:
		return "waits for pod/" + h.deserted[0].Name + " to be let go", nil
	case len(h.record())+len(h.mark())+len(h.held) > 0:
		return handing, steps(h.record(), h.mark(), h.release())
	}
	return handing, h.create()
}

const handing = "pods are handed over"

// record writes down the templates of pods, which nobody knows any more once
// their owners are gone.
func (h *handover) record() Step {
	var step Step
	done := map[string]bool{}
	for _, pod := range h.pods() {
		from := h.origins[pod.UID]
		if _, known := h.records[from.label]; known || from.template == nil || done[from.label] {
			continue
		}
		done[from.label] = true
		action := h.rollout.record(from.template, from.label)
		delete(mapAt(action.Body.(map[string]any), "metadata"), "ownerReferences") // the host takes it once it is there
		step = append(step, action)
	}
	return step
}

// mark labels pods with what they were made from, and their ReplicaSets with who
// gets them.
func (h *handover) mark() Step {
	var step Step
	for _, pod := range h.pods() {
		if from := h.origins[pod.UID]; from.template != nil && pod.Labels[LabelRevision] != from.label {
			step = append(step, metadataPatch(podRef(pod), pod.UID, "labels", LabelRevision, from.label, "write down what pod/"+pod.Name+" was made from"))
		}
	}
	for _, o := range h.sets {
		if o.GetAnnotations()[AnnotationHandedOver] != handedTo(h.manifest) {
			step = append(step, metadataPatch(refAt(o), o.GetUID(), "annotations", AnnotationHandedOver, handedTo(h.manifest),
				"mark replicaset/"+o.GetName()+" as on its way"))
		}
	}
	return step
}

func metadataPatch(ref Ref, uid types.UID, field, key, value, text string) Action {
	return Action{
		Name: "hand-over", Mode: StrategicPatch, Ref: ref, UID: uid, Text: text,
		Body: map[string]any{"metadata": map[string]any{"uid": string(uid), field: map[string]any{key: value}}},
	}
}

// dissolve deletes ReplicaSets whose Deployment is gone; their pods stay.
func (h *handover) dissolve() Step {
	var step Step
	for _, o := range h.sets {
		if o.GetDeletionTimestamp() == nil {
			step = append(step, Action{
				Name: "hand-over", Mode: Delete, Orphan: true, Ref: refAt(o), UID: o.GetUID(),
				Text: "delete replicaset/" + o.GetName() + "; its pods stay",
			})
		}
	}
	return step
}

// release takes the owner away that a pod's kind of controller left behind.
func (h *handover) release() Step {
	var step Step
	for _, pod := range h.held {
		for i := range pod.OwnerReferences {
			owner := &pod.OwnerReferences[i]
			if owner.Controller == nil || !*owner.Controller {
				continue
			}
			at := fmt.Sprintf("/metadata/ownerReferences/%d", i)
			step = append(step, Action{
				Name: "hand-over", Mode: JSONPatch, Ref: podRef(pod), UID: pod.UID,
				Text: "take the owner of pod/" + pod.Name + " away: " + strings.ToLower(owner.Kind) + "/" + owner.Name + " is gone",
				Body: []any{
					map[string]any{"op": "test", "path": at + "/uid", "value": string(owner.UID)},
					map[string]any{"op": "remove", "path": at},
				},
			})
		}
	}
	return step
}

// create makes the host. Where Git leaves the replicas to others, it begins with
// as many as there are pods.
func (h *handover) create() []Step {
	all := createSteps(h.rollout)
	if at(h.manifest.Object, "spec", "replicas") == nil {
		all[0][0].Body = with(all[0][0].Body.(map[string]any), int64(len(h.pods())), "spec", "replicas")
	}
	return all
}

// firstOf is the first text that says something.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func refAt(o *unstructured.Unstructured) Ref {
	return Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}
