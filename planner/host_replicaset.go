package planner

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// replicaSet carries its pods itself. Its controller never touches the pods that
// it has when its template changes, so nothing needs to be held: the template is
// applied, then pods are patched, or deleted in their turn. While a partition
// keeps pods at an old template, it may have that one instead (aim).
type replicaSet struct {
	set
	members []*corev1.Pod
	want    Template
	wanted  string                       // the revision of want
	count   int                          // of pods
	keeping string                       // the key of the template that a partition keeps, "" if none
	orphans []*unstructured.Unstructured // records from before it was there
}

func newReplicaSet(r *rollout, snap Snapshot) *replicaSet {
	uid := r.live.Object.GetUID()
	orphans := orphanRecords(r.manifest, snap)
	s := &replicaSet{
		orphans: orphans,
		set:     set{object: r.live.Object, records: recordsOf(slices.Concat(orphans, snap.Owned[uid]))},
		members: active(snap.Pods[uid]),
		want:    r.want, wanted: revision(r.want),
	}
	r.numbers = newNumbers(r, s.live(), s.members)
	s.count = r.numbers.wanted
	if kept, label := s.kept(r); kept != nil {
		s.keeping = s.recorded(label).key
	}
	return s
}

func (s *replicaSet) made(pod *corev1.Pod) made { return s.recorded(pod.Labels[LabelRevision]) }

// recorded also knows the wanted template: pods may have been patched to it, though
// the ReplicaSet never had it, before its record is seen.
func (s *replicaSet) recorded(label string) made {
	m := s.set.recorded(label)
	if !m.known && label == s.wanted {
		return made{key: label, from: map[string]any{"spec": map[string]any{"template": map[string]any(s.want)}}, known: true}
	}
	return m
}

func (s *replicaSet) String() string { return "replicaset/" + s.object.GetName() }

func (s *replicaSet) live() int { return numberAt(s.object.Object, 1, "spec", "replicas") }

func (s *replicaSet) replicas() int { return s.count }

func (s *replicaSet) pods() []*corev1.Pod { return s.members }

func (s *replicaSet) leaving() int { return max(0, len(s.members)-s.live()) }

// before: pods of the template that a partition keeps come last, since they are
// what it keeps.
func (s *replicaSet) before(a, b *podCase) bool {
	if s.keeping != "" {
		if keptA, keptB := s.made(a.pod).key == s.keeping, s.made(b.pod).key == s.keeping; keptA != keptB {
			return keptB
		}
	}
	return youngestFirst(a, b)
}

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
	aim := s.aim(r)
	label := s.label(r)
	patch := func(c podCase) Action {
		return patchPod(c, r.want, map[string]any{LabelRevision: label}, r.mark(c, label))
	}
	if !same(s.template(), aim.template) || !observed(s.object) {
		r.waitForBirths()
	}
	return steps(s.adopt(r), s.remember(r, aim), s.applyStep(r, aim), r.podStep(patch), r.numbers.marks, s.forget(r, r.settings.history()))
}

// waitForBirths lets pods live that serve: until the controller has seen the
// template, what takes their place may be made from the one of before.
func (r *rollout) waitForBirths() {
	for i := range r.cases {
		if c := &r.cases[i]; c.turn == 1 && c.verdict == Recreate && c.progress.available {
			c.waits, r.waits = true, "for the ReplicaSet's controller to see its new template"
		}
	}
}

// label is the revision of the wanted template, as it stands or as it will be written.
func (s *replicaSet) label(r *rollout) string {
	if same(s.template(), r.want) {
		return s.revision()
	}
	return revision(r.want)
}

// remember records templates that the ReplicaSet does not have, or will not have any more.
func (s *replicaSet) remember(r *rollout, aim aim) Step {
	var step Step
	if !same(s.template(), r.want) && len(s.members) > 0 {
		step = s.recordOld(r)
	}
	if _, known := s.records[revision(r.want)]; aim.old && !known {
		step = append(step, r.record(r.want, revision(r.want)))
	}
	return step
}

var (
	replicasPath = []string{"spec", "replicas"}

	labelPath = []string{"spec", "template", "metadata", "labels", LabelRevision}
	basePath  = []string{"metadata", "annotations", AnnotationBaseRevision}
	keptPath  = []string{"metadata", "annotations", AnnotationKeptRevision}
)

func (s *replicaSet) applyStep(r *rollout, aim aim) Step {
	except := [][]string{labelPath, basePath, keptPath}
	if aim.old {
		except = append(except, []string{"spec", "template"})
	}
	n := r.numbers
	if n.moved {
		except = append(except, replicasPath)
	}
	if (!n.moved || n.live == n.replicas) && s.keptLabel() == aim.kept && (!aim.old || same(s.template(), aim.template)) && !r.differs(except...) {
		return nil
	}
	body := r.applyBody()
	text := "apply " + r.manifest.Ref.String()
	if n.moved && n.replicas != n.wanted {
		body = with(body, int64(n.replicas), replicasPath...)
		text += fmt.Sprintf(", with %d replicas for now", n.replicas)
	}
	if aim.old {
		body = with(body, clone(map[string]any(aim.template)), "spec", "template")
		text += ", with the template that the partition keeps"
	}
	if aim.label != "" {
		body = labelled(body, aim.label)
	}
	if name := s.baseAfter(aim); name != "" {
		body = with(body, name, basePath...)
	}
	if aim.kept != "" {
		body = with(body, aim.kept, keptPath...)
	}
	return Step{r.apply("apply", body, text)}
}

// baseAfter is what pods without a revision label were made from, once the template has changed.
func (s *replicaSet) baseAfter(aim aim) string {
	if s.base() != "" || s.revision() != "" || same(s.template(), aim.template) {
		return s.base()
	}
	return revision(s.template())
}
