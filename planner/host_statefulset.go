package planner

import (
	"reflect"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// statefulSet carries its pods itself. Its controller recreates a pod whose
// controller-revision-hash is old and whose ordinal the partition lets through.
// So the partition stands above all pods while they are patched:
//
//  1. one write: new template and partition = replicas; wait for status.updateRevision
//  2. patch each pod's images and its controller-revision-hash
//  3. lower the partition, once the controller counts the patched pods as updated:
//     it finds nothing to do. A pod that must be recreated is let through alone
type statefulSet struct {
	object    *unstructured.Unstructured
	promise   *Amount // maxUnavailable as Git has it
	revisions []*unstructured.Unstructured
	members   []*corev1.Pod
	kept      int  // ordinals below it stay, by the partition
	anyOrder  bool // pods are updated in any order, and Settings.Partition is a number of them
	stays     int  // the partition while nothing is patched: kept, or above all pods while updates are paused
	hold      bool
}

func newStatefulSet(r *rollout, snap Snapshot) *statefulSet {
	s := &statefulSet{object: r.live.Object, revisions: snap.Owned[r.live.Object.GetUID()]}
	s.promise = amountAt(r.proof.Object.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
	s.members = active(snap.Pods[s.object.GetUID()])
	s.hold = s.object.GetAnnotations()[AnnotationRollout] != ""
	partition := r.settings.Partition
	if partition == nil {
		partition = amountAt(r.proof.Object.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	}
	if s.anyOrder = r.settings.AnyOrder || r.settings.OnDelete; !s.anyOrder {
		s.kept = resolvePartition(partition, s.replicas())
	}
	s.stays = s.kept
	if r.settings.Paused {
		s.stays = s.top()
	}
	return s
}

func (s *statefulSet) String() string { return "statefulset/" + s.object.GetName() }

func (s *statefulSet) replicas() int { return numberAt(s.object.Object, 1, "spec", "replicas") }

func (s *statefulSet) pods() []*corev1.Pod { return s.members }

func (s *statefulSet) leaving() int { return max(0, len(s.members)-s.replicas()) }

func (s *statefulSet) made(pod *corev1.Pod) made {
	return s.recorded(labelOf(pod))
}

func (s *statefulSet) recorded(label string) made {
	return madeFrom(s.revisions, label, (*unstructured.Unstructured).GetName)
}

// madeFrom finds a pod's template among the revisions that its controller keeps.
// The controller never drops one that a live pod carries.
func madeFrom(revisions []*unstructured.Unstructured, label string, name func(*unstructured.Unstructured) string) made {
	for _, o := range revisions {
		if name(o) == label {
			return made{key: label, from: mapAt(o.Object, "data"), known: true}
		}
	}
	return made{}
}

func (s *statefulSet) before(a, b *podCase) bool {
	if a.progress.available != b.progress.available {
		return !a.progress.available
	}
	return s.ordinal(a.pod) > s.ordinal(b.pod)
}

// ordinal counts from the set's first one.
func (s *statefulSet) ordinal(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	if err != nil {
		return -1
	}
	return n - numberAt(s.object.Object, 0, "spec", "ordinals", "start")
}

func (s *statefulSet) keeps(pod *corev1.Pod) string {
	if s.ordinal(pod) < s.kept {
		return keptByPartition
	}
	return ""
}

func (s *statefulSet) partition() *Amount {
	if s.kept == 0 {
		return nil
	}
	return &Amount{Value: s.kept}
}

func (s *statefulSet) byOrdinal() bool { return !s.anyOrder }

func (s *statefulSet) maxUnavailable() *Amount { return s.promise }

func (s *statefulSet) floor() int { return 1 }

func (s *statefulSet) surges() bool { return false }

func (s *statefulSet) steps(r *rollout) []Step {
	if r.held != "" {
		return nil
	}
	if strategyOf(r) == "OnDelete" {
		return onDelete(r, s.applyStep(r, -1), s.patch(r))
	}
	if s.anyOrder {
		return s.stepsInAnyOrder(r)
	}
	r.native = r.native && !(s.hold && r.begun()) // it was held for pods that nobody had seen
	if r.native && r.restarting() {
		return nil
	}
	unseen := len(r.cases) < s.replicas() && !r.renewing
	if r.native || r.pending() == 0 && !unseen {
		if s.hold && !counted(r, "updatedReplicas", "replicas") {
			r.waits = "for the StatefulSet's controller to count the patched pods"
			return steps(s.applyStep(r, s.wall(r))) // it counts by its template, which a revert must bring back first
		}
		if apply := s.applyStep(r, s.stays); apply != nil {
			return steps(apply)
		}
		return steps(s.freeStep(r))
	}
	wall := s.wall(r)
	if apply := s.applyStep(r, wall); apply != nil {
		r.waits = "for the StatefulSet's controller to see the partition"
		return steps(apply)
	}
	if !s.sees(r) {
		return nil
	}
	return steps(r.inPlaceStep(s.patch(r)), s.freeStep(r))
}

// sees: the controller knows the template that pods get.
func (s *statefulSet) sees(r *rollout) bool {
	if !observed(s.object) || !s.recorded(textAt(s.object.Object, "status", "updateRevision")).known {
		r.waits = "for the StatefulSet's controller to see its new template"
		return false
	}
	return true
}

// freeStep deletes pods that the partition lets through and that the controller
// does not replace: broken ones, since a controller that keeps an order waits until
// they are ready before it replaces any pod, which they never are; and those that
// have the wanted revision by their label alone.
func (s *statefulSet) freeStep(r *rollout) Step {
	if !observed(s.object) {
		return nil
	}
	partition := numberAt(s.object.Object, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	revision := textAt(s.object.Object, "status", "updateRevision")
	var step Step
	for _, c := range r.cases {
		stuck := c.progress.broken || revision != "" && labelOf(c.pod) == revision
		if c.turn == 1 && c.verdict == Recreate && stuck && s.ordinal(c.pod) >= partition {
			step = append(step, deletePod(c))
		}
	}
	return step
}

// wall is the partition while pods are patched: above them all, or just below
// the highest pod that must be recreated, if its turn has come and every pod
// above it is done.
func (s *statefulSet) wall(r *rollout) int {
	top := s.top()
	if !r.renewing {
		return top
	}
	lowest, blocked := top, -1
	for i := range r.cases {
		c := &r.cases[i]
		if n := s.ordinal(c.pod); !c.current && n > blocked && (c.verdict != Recreate || c.turn != 1) {
			blocked = n
		}
	}
	for i := range r.cases {
		c := &r.cases[i]
		if n := s.ordinal(c.pod); c.turn == 1 && c.verdict == Recreate && n > blocked {
			lowest = min(lowest, n)
		}
	}
	if s.hold && (lowest == top && blocked >= 0 || !s.agrees(r)) {
		return s.standing(blocked)
	}
	return lowest
}

// agrees: the controller counts the old pods that are seen here. If it counts
// fewer, one has been replaced, and the partition would let its successor through.
func (s *statefulSet) agrees(r *rollout) bool {
	seen, revision := 0, textAt(s.object.Object, "status", "currentRevision")
	for i := range r.cases {
		if labelOf(r.cases[i].pod) == revision {
			seen++
		}
	}
	return observed(s.object) && seen <= numberAt(s.object.Object, 0, "status", "currentReplicas")
}

// standing keeps a wall that was lowered for a pod above the blocked ones.
func (s *statefulSet) standing(blocked int) int {
	return max(numberAt(s.object.Object, 0, "spec", "updateStrategy", "rollingUpdate", "partition"), blocked+1)
}

// top is a partition above all pods.
func (s *statefulSet) top() int {
	top := s.replicas()
	for _, pod := range s.members {
		top = max(top, s.ordinal(pod)+1)
	}
	return top
}

func (s *statefulSet) patch(r *rollout) func(podCase) Action {
	revision := textAt(s.object.Object, "status", "updateRevision")
	labels := map[string]any{appsv1.ControllerRevisionHashLabelKey: revision}
	return func(c podCase) Action { return patchPod(c, r.want, labels, r.mark(c, revision)) }
}

// applyStep applies Git's text with a partition, if the live object differs. A
// negative partition leaves the strategy as Git has it.
func (s *statefulSet) applyStep(r *rollout, partition int) Step {
	path := []string{"spec", "updateStrategy"}
	live := numberAt(s.object.Object, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	holding := partition >= 0 && partition != s.stays
	moves := partition >= 0 && live != partition || s.hold != holding
	if !moves && !r.differs(path, holdPath) && s.sameStrategy(r) {
		return nil
	}
	body := r.applyBody()
	if partition > 0 || at(body, "spec", "updateStrategy", "rollingUpdate", "partition") != nil && partition >= 0 {
		body = with(body, int64(partition), "spec", "updateStrategy", "rollingUpdate", "partition")
	}
	text := "apply " + r.manifest.Ref.String()
	if holding {
		body = with(body, "in-place", holdPath...)
		text += ", with the partition above the pods to patch"
	}
	return Step{r.apply("apply", body, text)}
}

// holdPath is where a host that situ holds still says so.
var holdPath = []string{"metadata", "annotations", AnnotationRollout}

// sameStrategy compares the update strategy but for the partition.
func (s *statefulSet) sameStrategy(r *rollout) bool {
	at := []string{"rollingUpdate", "partition"}
	live := withoutAt(mapAt(s.object.Object, "spec", "updateStrategy"), at)
	want := withoutAt(mapAt(r.proof.Object.Object, "spec", "updateStrategy"), at)
	return reflect.DeepEqual(live, want)
}

// counted: the controller has seen every pod that was patched, so that it takes
// none of them for an old one when it may act again. Nor does it know of an old
// one that situ has not seen, unless it is to replace such pods.
func counted(r *rollout, updated, all string) bool {
	status := mapAt(r.live.Object.Object, "status")
	least := r.current()
	if least == len(r.cases) {
		least = max(least, numberAt(status, 0, all))
	}
	return observed(r.live.Object) && numberAt(status, 0, updated) >= least
}

func strategyOf(r *rollout) string {
	return textAt(r.proof.Object.Object, "spec", "updateStrategy", "type")
}

// onDelete respects a strategy that leaves the moment to people: pods are
// patched only where the update type was asked for in words.
func onDelete(r *rollout, apply Step, patch func(podCase) Action) []Step {
	if !r.settings.Explicit {
		keepAll(r, "updateStrategy OnDelete: replaced when somebody deletes it")
	}
	if apply != nil || !observed(r.live.Object) {
		return steps(apply)
	}
	return steps(r.inPlaceStep(patch))
}
