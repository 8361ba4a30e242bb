package planner

import (
	corev1 "k8s.io/api/core/v1"
)

// replicaSet carries its pods itself. Its controller never touches the pods that
// it has when its template changes, so nothing needs to be held: the template is
// applied, then pods are patched, or deleted in their turn.
type replicaSet struct {
	set
	members []*corev1.Pod
}

func newReplicaSet(r *rollout, snap Snapshot) *replicaSet {
	uid := r.live.Object.GetUID()
	return &replicaSet{
		set:     set{object: r.live.Object, records: recordsOf(snap.Owned[uid])},
		members: active(snap.Pods[uid]),
	}
}

func (s *replicaSet) String() string { return "replicaset/" + s.object.GetName() }

func (s *replicaSet) replicas() int { return numberAt(s.object.Object, 1, "spec", "replicas") }

func (s *replicaSet) pods() []*corev1.Pod { return s.members }

func (s *replicaSet) leaving() int { return max(0, len(s.members)-s.replicas()) }

func (s *replicaSet) before(a, b *podCase) bool { return youngestFirst(a, b) }

func (s *replicaSet) keeps(*corev1.Pod) string { return "" }

func (s *replicaSet) partition() *Amount { return nil }

func (s *replicaSet) byOrdinal() bool { return false }

// maxUnavailable is a Deployment's default: a ReplicaSet makes no promise of its own.
func (s *replicaSet) maxUnavailable() *Amount { return &Amount{Value: 25, Percent: true} }

func (s *replicaSet) floor() int { return 1 }

func (s *replicaSet) surges() bool { return false }

func (s *replicaSet) steps(r *rollout) []Step {
	if r.held != "" {
		return nil
	}
	label := s.label(r)
	patch := func(c podCase) Action {
		return patchPod(c, r.want, map[string]any{LabelRevision: label}, r.mark(c, label))
	}
	var old Step
	if !same(s.template(), r.want) && len(s.members) > 0 {
		old = s.recordOld(r)
	}
	return steps(old, s.applyStep(r, label), r.podStep(patch), s.forget(r, keepRecords))
}

// label is the revision of the wanted template, as it stands or as it will be written.
func (s *replicaSet) label(r *rollout) string {
	if same(s.template(), r.want) {
		return s.revision()
	}
	return revision(r.want)
}

func (s *replicaSet) applyStep(r *rollout, label string) Step {
	base := []string{"metadata", "annotations", AnnotationBaseRevision}
	if !r.differs([]string{"spec", "template", "metadata", "labels", LabelRevision}, base) {
		return nil
	}
	body := r.applyBody()
	if label != "" {
		body = labelled(body, label)
	}
	if name := s.baseAfter(r); name != "" {
		body = with(body, name, base...)
	}
	return Step{r.apply("apply", body, "apply "+r.manifest.Ref.String())}
}

// baseAfter is what pods without a revision label were made from, once the template has changed.
func (s *replicaSet) baseAfter(r *rollout) string {
	if s.base() != "" || s.revision() != "" || same(s.template(), r.want) {
		return s.base()
	}
	return revision(s.template())
}
