package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// plan says what becomes of each pod, and takes the next step.
func (h *handover) plan(plan *WorkloadPlan, snap Snapshot, wake *time.Time) {
	if why := h.refusal; why != "" {
		plan.refuse("hand-over", why)
		return
	}
	predicted := *h.rollout
	object := h.proof.Object
	if h.foreignReplicas() || h.manifest.Kind == "DaemonSet" {
		object = &unstructured.Unstructured{Object: with(object.Object, int64(len(h.pods())), "spec", "replicas")}
	}
	predicted.live = Live{Object: object}
	host := &handed{replicaSet: replicaSet{set: set{object: object}, members: h.pods(), count: numberAt(object.Object, 1, "spec", "replicas")}, origins: h.origins}
	if h.replaces() {
		host.foreign = "the stock " + h.manifest.Kind + "'s own controller replaces it: OpenKruise has made it"
	}
	predicted.assess(host, snap)
	predicted.schedule(host, newDisruptions(snap.Disruptions[h.manifest.Namespace], predicted.cases))
	predicted.report(plan, wake)
	if plan.Verdict == Refuse {
		return
	}
	text, steps := h.next()
	plan.State, plan.Text, plan.Steps = Progressing, text, steps
	told := fmt.Sprintf("%d running pods are handed over to %s/%s", len(h.pods()), strings.ToLower(h.manifest.Kind), h.manifest.Name)
	if !h.replaces() {
		told += "; none of them restarts for that"
	}
	plan.Warnings = append(slices.Clip(plan.Warnings), told)
	if !h.replaces() {
		predicted.tellTooMany(plan, numberAt(object.Object, 1, "spec", "replicas"))
		plan.Warnings = append(plan.Warnings, tooMany(len(h.pods()), numberAt(object.Object, 1, "spec", "replicas"))...)
	}
	if h.deployment.Object != nil {
		plan.Warnings = append(plan.Warnings, h.scalerLoses(deploymentRef(h.manifest.Ref), snap)...)
	}
}

func tooMany(pods, wanted int) []string {
	if pods <= wanted {
		return nil
	}
	return []string{fmt.Sprintf("%d of them are more than the %d that Git wants, and go after that", pods-wanted, wanted)}
}

// scalerLoses tells whom an autoscaler is to scale from then on.
func (r *rollout) scalerLoses(old Ref, snap Snapshot) []string {
	scaler := snap.Autoscalers[old]
	if scaler == "" {
		return nil
	}
	return []string{scaler + " loses the " + strings.ToLower(old.Kind) + "/" + old.Name + ": let its scaleTargetRef name " +
		r.manifest.APIVersion + " " + r.manifest.Kind + " " + r.manifest.Name + ", and the replicas are left to it"}
}

// handed is the host to be, with the pods that it is going to have.
type handed struct {
	replicaSet
	origins map[types.UID]origin
	foreign string // why its controller replaces them
}

func (s *handed) made(pod *corev1.Pod) made {
	if s.foreign != "" {
		return made{foreign: s.foreign}
	}
	from := s.origins[pod.UID]
	if from.template == nil {
		return made{}
	}
	return made{key: from.label, known: true, from: map[string]any{"spec": map[string]any{"template": map[string]any(from.template)}}}
}

// maxUnavailable is what a controller that replaces the pods goes by.
func (s *handed) maxUnavailable() *Amount {
	if s.foreign == "" {
		return s.replicaSet.maxUnavailable()
	}
	return amountAt(s.object.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
}

// forbidden is why nothing is handed over, "" if it is.
func (h *handover) forbidden(snap Snapshot) string {
	d := h.deployment
	if h.replaces() && h.settings.Update == InPlaceOnly && len(h.pods()) > 0 {
		return fmt.Sprintf("the stock %s replaces the %d pods that OpenKruise has left, and the update type is InPlaceOnly: write InPlaceIfPossible until they are replaced",
			h.manifest.Kind, len(h.pods()))
	}
	if why := h.rival(snap); why != "" {
		return why
	}
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
	case d != nil && !h.seen():
		return "waits for all ReplicaSets and pods of deployment/" + d.GetName() + " to be seen", nil
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

// seen: what the paused Deployment has counted has been seen here, too. Each
// resource is watched for itself, and what is overlooked would be written down
// nowhere: its pods would be recreated.
func (h *handover) seen() bool {
	d, pods, newest := h.deployment.Object, 0, 0
	for _, o := range h.sets {
		pods += h.members[o.GetUID()]
		newest = max(newest, generationOf(o))
	}
	return pods >= numberAt(d.Object, 0, "status", "replicas") && newest >= generationOf(d)
}

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

// create makes the host with all pods that it gets: those that are too many go
// afterwards, in the order and with the hooks of any other scale-down.
func (h *handover) create() []Step {
	all := createSteps(h.rollout)
	count := len(h.pods())
	switch wanted := numberAt(h.manifest.Object, -1, "spec", "replicas"); {
	case h.manifest.Kind == "DaemonSet", wanted >= count, wanted >= 0 && h.replaces():
	default:
		all[0][0].Body = with(all[0][0].Body.(map[string]any), int64(count), "spec", "replicas")
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
