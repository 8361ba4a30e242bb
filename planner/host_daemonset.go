package planner

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// daemonSet carries its pods itself. Its controller recreates pods of an old
// revision unless the update strategy is OnDelete. So it is, while pods are
// patched:
//
//  1. one write: new template and updateStrategy OnDelete; wait for its ControllerRevision
//  2. patch each pod's images, controller-revision-hash and pod-template-generation;
//     a pod that must be recreated is deleted in its turn
//  3. give the strategy back, once no pod is kept at an old template on purpose
//     and the controller counts the patched pods as updated
type daemonSet struct {
	object    *unstructured.Unstructured
	strategy  map[string]any // rollingUpdate as Git has it
	revisions []*unstructured.Unstructured
	members   []*corev1.Pod
	nodes     *nodeChoice
	hold      bool
}

func newDaemonSet(r *rollout, snap Snapshot) *daemonSet {
	d := &daemonSet{object: r.live.Object, revisions: snap.Owned[r.live.Object.GetUID()]}
	d.strategy = mapAt(r.proof.Object.Object, "spec", "updateStrategy", "rollingUpdate")
	d.members = active(snap.Pods[d.object.GetUID()])
	d.nodes = chooseNodes(r, snap)
	d.hold = d.object.GetAnnotations()[AnnotationRollout] != ""
	return d
}

func (d *daemonSet) String() string { return "daemonset/" + d.object.GetName() }

func (d *daemonSet) replicas() int {
	return numberAt(d.object.Object, 0, "status", "desiredNumberScheduled")
}

func (d *daemonSet) pods() []*corev1.Pod { return d.members }

func (d *daemonSet) leaving() int { return max(0, len(d.members)-d.replicas()) }

func (d *daemonSet) made(pod *corev1.Pod) made {
	return d.recorded(labelOf(pod))
}

func (d *daemonSet) recorded(label string) made { return madeFrom(d.revisions, label, hashOf) }

func hashOf(revision *unstructured.Unstructured) string {
	return revision.GetLabels()[appsv1.ControllerRevisionHashLabelKey]
}

func (d *daemonSet) before(a, b *podCase) bool {
	if a.progress.available != b.progress.available {
		return !a.progress.available
	}
	return a.pod.Spec.NodeName < b.pod.Spec.NodeName
}

func (d *daemonSet) keeps(pod *corev1.Pod) string { return d.nodes.keeps(pod) }

func (d *daemonSet) partition() *Amount { return nil }

func (d *daemonSet) byOrdinal() bool { return false }

func (d *daemonSet) maxUnavailable() *Amount { return amountAt(d.strategy, "maxUnavailable") }

func (d *daemonSet) floor() int { return 1 }

func (d *daemonSet) surges() bool {
	surge := amountAt(d.strategy, "maxSurge")
	return surge != nil && surge.Value > 0
}

func (d *daemonSet) steps(r *rollout) []Step {
	if r.held != "" {
		return nil
	}
	if strategyOf(r) == "OnDelete" {
		return onDelete(r, r.applyOnDelete(false), d.patch(r))
	}
	r.native = r.native && !(d.hold && r.begun() && !d.surges()) // it was held for pods that nobody had seen
	if r.native && r.restarting() {
		return nil
	}
	unseen := len(r.cases) < d.replicas() && !r.renewing
	if r.native || r.current() == len(r.cases) && !unseen {
		if d.hold && !counted(r, "updatedNumberScheduled", "currentNumberScheduled") {
			r.waits = "for the DaemonSet's controller to count the patched pods"
			return steps(r.applyOnDelete(true)) // it counts by its template, which a revert must bring back first
		}
		if apply := r.applyOnDelete(false); apply != nil || !observed(d.object) {
			return steps(apply)
		}
		return steps(d.freeStep(r))
	}
	if apply := r.applyOnDelete(true); apply != nil {
		r.waits = "for the DaemonSet's controller to see its new template"
		return steps(apply)
	}
	if !observed(d.object) || d.hash(r) == "" {
		r.waits = "for the DaemonSet's controller to see its new template"
		return nil
	}
	return steps(r.podStep(d.patch(r)))
}

// freeStep deletes pods that have the wanted revision by their label alone: the
// controller does not replace them.
func (d *daemonSet) freeStep(r *rollout) Step {
	hash := d.hash(r)
	var step Step
	for _, c := range r.cases {
		if c.turn == 1 && c.verdict == Recreate && hash != "" && labelOf(c.pod) == hash {
			step = append(step, deletePod(c))
		}
	}
	return step
}

// hash is the label of the ControllerRevision that holds the wanted template.
func (d *daemonSet) hash(r *rollout) string {
	for _, o := range d.revisions {
		if same(templateOf(mapAt(o.Object, "data")), r.want) {
			return hashOf(o)
		}
	}
	return ""
}

func (d *daemonSet) patch(r *rollout) func(podCase) Action {
	hash := d.hash(r)
	labels := map[string]any{appsv1.ControllerRevisionHashLabelKey: hash}
	if n, err := strconv.Atoi(d.object.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]); err == nil {
		labels[appsv1.DeprecatedTemplateGeneration] = strconv.Itoa(n)
	}
	return func(c podCase) Action { return patchPod(c, r.want, labels, r.mark(c, hash)) }
}
