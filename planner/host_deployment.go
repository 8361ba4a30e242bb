package planner

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deployment carries its pods through ReplicaSets. A ReplicaSet never touches
// the pods it has, but the Deployment makes a new ReplicaSet as soon as none has
// its own template. So the two templates are exchanged while it is paused:
//
//  1. remember the old template, pause, wait until the controller has seen it
//  2. write the new template into the current ReplicaSet, then into the Deployment
//  3. patch the pods; new ones get the new template by themselves
//  4. unpause, as soon as the controller counts the ReplicaSet as its newest
//
// It stays paused for a moment only, not for the rollout: once both templates
// agree, the controller has nothing to do, and a crash leaves nothing behind.
type deployment struct {
	object    *unstructured.Unstructured
	sets      []set
	current   *set // whose pods are patched
	members   map[string][]*corev1.Pod
	health    Health
	exchanged bool // the Deployment and its current ReplicaSet have the wanted template
	hold      bool
	adopts    string // what its controller is to find first
}

func newDeployment(r *rollout, snap Snapshot) *deployment {
	d := &deployment{object: r.live.Object, members: map[string][]*corev1.Pod{}, health: r.live.Health}
	owned := snap.Owned[d.object.GetUID()]
	records := recordsOf(owned)
	for _, o := range owned {
		if o.GetKind() == "ReplicaSet" && o.GetDeletionTimestamp() == nil {
			d.sets = append(d.sets, set{object: o, records: records})
			d.members[o.GetName()] = active(snap.Pods[o.GetUID()])
			maps.Copy(records, recordsOf(snap.Owned[o.GetUID()])) // it was a host of its own before
		}
	}
	slices.SortFunc(d.sets, func(a, b set) int {
		return cmp.Or(generationOf(b.object)-generationOf(a.object), cmp.Compare(a.object.GetName(), b.object.GetName()))
	})
	d.current = d.choose(r.want)
	d.exchanged = d.aligned(r)
	d.hold = d.object.GetAnnotations()[AnnotationRollout] != ""
	d.adopts = d.unadopted(snap)
	return d
}

// generationOf is the controller's own count of rollouts.
func generationOf(o *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(o.GetAnnotations()["deployment.kubernetes.io/revision"])
	return n
}

// choose takes the set that has the wanted template and pods, else the newest.
func (d *deployment) choose(want Template) *set {
	for i := range d.sets {
		if same(d.sets[i].template(), want) && len(d.members[d.sets[i].object.GetName()]) > 0 {
			return &d.sets[i]
		}
	}
	if len(d.sets) == 0 {
		return nil
	}
	return &d.sets[0]
}

func (d *deployment) String() string {
	name := "deployment/" + d.object.GetName()
	if d.current == nil {
		return name
	}
	return name + " through replicaset/" + d.current.object.GetName()
}

func (d *deployment) replicas() int { return numberAt(d.object.Object, 1, "spec", "replicas") }

func (d *deployment) pods() []*corev1.Pod {
	var all []*corev1.Pod
	for i := range d.sets {
		all = append(all, d.members[d.sets[i].object.GetName()]...)
	}
	return all
}

// leaving: a ReplicaSet that was scaled down still has the pods that go next.
func (d *deployment) leaving() int {
	n := 0
	for i := range d.sets {
		o := d.sets[i].object
		n += max(0, len(d.members[o.GetName()])-numberAt(o.Object, 1, "spec", "replicas"))
	}
	return n
}

func (d *deployment) made(pod *corev1.Pod) made {
	for i := range d.sets {
		s := &d.sets[i]
		if !ownedBy(pod, s.object) {
			continue
		}
		if s != d.current {
			return made{foreign: "it belongs to an older ReplicaSet; the Deployment's own rolling update replaces it"}
		}
		return s.made(pod)
	}
	return made{}
}

func (d *deployment) recorded(label string) made {
	if d.current == nil {
		return made{}
	}
	return d.current.recorded(label)
}

func (d *deployment) before(a, b *podCase) bool { return youngestFirst(a, b) }

func (d *deployment) keeps(*corev1.Pod) string { return "" }

func (d *deployment) partition() *Amount { return nil }

func (d *deployment) byOrdinal() bool { return false }

func (d *deployment) maxUnavailable() *Amount {
	if textAt(d.object.Object, "spec", "strategy", "type") == "Recreate" {
		return &Amount{Value: 100, Percent: true}
	}
	if amount := amountAt(d.object.Object, "spec", "strategy", "rollingUpdate", "maxUnavailable"); amount != nil {
		return amount
	}
	return &Amount{Value: 25, Percent: true}
}

func (d *deployment) floor() int { return 0 }

// surges: once the ReplicaSet has been given the wanted template, the controller
// sees nothing to roll, and no successor comes first any more.
func (d *deployment) surges() bool {
	return !d.exchanged && textAt(d.object.Object, "spec", "strategy", "type") != "Recreate"
}

func (d *deployment) paused(r *rollout) bool {
	if d.hold {
		return at(r.manifest.Object, "spec", "paused") == true
	}
	return at(r.proof.Object.Object, "spec", "paused") == true
}

func (d *deployment) steps(r *rollout) []Step {
	if r.held != "" {
		return nil
	}
	if d.adopts != "" {
		r.waits = d.adopts
		return nil
	}
	if d.paused(r) {
		r.held = "spec.paused is true"
		keepAll(r, "paused")
		if at(r.manifest.Object, "spec", "paused") != true && !same(templateOf(d.object.Object), r.want) {
			return steps(d.scale(r))
		}
		return steps(d.applyChanged(r, unchanged))
	}
	r.native = r.native && !d.stranded(r)
	unseen := d.current != nil && d.replicas() > 0 && !r.renewing
	if r.native || len(r.cases) == 0 && !unseen || !d.hold && len(r.cases) > 0 && d.upToDate(r) {
		return d.nativeSteps(r)
	}
	return d.inPlaceSteps(r)
}

// scale is all that is written to a Deployment that a person has paused while its
// template is not Git's: with Git's template in it, whoever ends the pause would
// have the controller recreate every pod before situ gets to patch one.
func (d *deployment) scale(r *rollout) Step {
	wanted := numberAt(r.manifest.Object, -1, "spec", "replicas")
	if wanted < 0 || r.scaler != "" || wanted == numberAt(d.object.Object, 1, "spec", "replicas") {
		return nil
	}
	return Step{{
		Name: "scale", Mode: StrategicPatch, Ref: d.ref(), UID: d.object.GetUID(),
		Body: map[string]any{"metadata": map[string]any{"uid": string(d.object.GetUID())}, "spec": map[string]any{"replicas": int64(wanted)}},
		Text: "scale " + d.ref().String(),
	}}
}

// stranded: the controller sees nothing to roll, since the ReplicaSet that the
// outdated pods belong to has been given the wanted template.
func (d *deployment) stranded(r *rollout) bool {
	return d.exchanged && slices.ContainsFunc(r.cases, func(c podCase) bool { return !c.current && !c.foreign })
}

// upToDate: every pod has the wanted template, and so has the ReplicaSet that makes new ones.
func (d *deployment) upToDate(r *rollout) bool {
	outdated := slices.ContainsFunc(r.cases, func(c podCase) bool { return !c.current })
	return !outdated && same(d.current.template(), r.want)
}

// nativeSteps leave the rollout to the Deployment's own rolling update.
func (d *deployment) nativeSteps(r *rollout) []Step {
	for i := range r.cases {
		if c := &r.cases[i]; !c.current {
			c.turn = max(c.turn, 1)
		}
	}
	if d.hold && d.overestimates(r) {
		r.waits = "for the Deployment's controller to see which pods are unavailable"
		return nil
	}
	if r.restarting() {
		return nil
	}
	apply := d.applyChanged(r, unchanged)
	if d.hold {
		return steps(apply, d.free(r))
	}
	return steps(apply)
}

// overestimates: the controller takes pods for available that are restarting in
// place. Set free, it would take as many others down as if they were.
func (d *deployment) overestimates(r *rollout) bool {
	return !observed(d.object) || numberAt(d.object.Object, 0, "status", "availableReplicas") > r.available()
}

func (d *deployment) inPlaceSteps(r *rollout) []Step {
	revision := d.revision(r)
	patch := func(c podCase) Action {
		return patchPod(c, r.want, map[string]any{LabelRevision: revision}, r.mark(c, revision))
	}
	if d.aligned(r) {
		return steps(d.applyChanged(r, d.keepPaused), r.podStep(patch), d.releaseStep(r), d.current.forget(r, keepRecords))
	}
	if !d.hold || at(d.object.Object, "spec", "paused") != true {
		r.waits = "pausing the Deployment"
		return steps(d.current.recordOld(r), d.clash(r), Step{d.pause()})
	}
	if !observed(d.object) {
		r.waits = "for the Deployment's controller to see the pause"
		return nil
	}
	return steps(d.current.recordOld(r), d.clash(r), d.exchange(r, revision), d.applyChanged(r, d.keepPaused), r.podStep(patch))
}

// keepRecords is how many templates are remembered beyond those that pods have,
// as many as a Deployment keeps old ReplicaSets by default.
const keepRecords = 10

// aligned: the Deployment and its current ReplicaSet both have the wanted template.
func (d *deployment) aligned(r *rollout) bool {
	return d.current != nil && same(templateOf(d.object.Object), r.want) && sameSet(d.current, d.object)
}

// sameSet compares as the Deployment's controller does: everything but its own hash label.
func sameSet(s *set, d *unstructured.Unstructured) bool {
	mine := withoutAt(mapAt(d.Object, "spec", "template"), []string{"metadata", "labels", "pod-template-hash"})
	its := withoutAt(mapAt(s.object.Object, "spec", "template"), []string{"metadata", "labels", "pod-template-hash"})
	return reflect.DeepEqual(withoutAt(mine, []string{"metadata", "creationTimestamp"}), withoutAt(its, []string{"metadata", "creationTimestamp"}))
}

// revision is the label of the wanted template: the one that the Deployment or
// its ReplicaSet has it under already, or else its content's.
func (d *deployment) revision(r *rollout) string {
	switch {
	case same(templateOf(d.object.Object), r.want):
		return textAt(d.object.Object, "spec", "template", "metadata", "labels", LabelRevision)
	case d.current != nil && same(d.current.template(), r.want):
		return d.current.revision()
	}
	return revision(r.want)
}

func (d *deployment) pause() Action {
	return Action{
		Name: "pause", Mode: StrategicPatch, Ref: d.ref(), UID: d.object.GetUID(),
		Body: map[string]any{
			"metadata": map[string]any{"uid": string(d.object.GetUID()), "annotations": map[string]any{AnnotationRollout: "in-place"}},
			"spec":     map[string]any{"paused": true},
		},
		Text: "pause " + d.ref().String() + " while its template is exchanged",
	}
}

// exchange writes the wanted template into the current ReplicaSet. Pods without
// a revision label are from before situ: what they were made from is written down beside it.
func (d *deployment) exchange(r *rollout, revision string) Step {
	s := d.current
	if same(s.template(), r.want) && s.revision() == revision {
		return nil
	}
	template := with(map[string]any(clone(map[string]any(r.want)).(map[string]any)), revision, "metadata", "labels", LabelRevision)
	if hash := textAt(s.object.Object, "spec", "template", "metadata", "labels", "pod-template-hash"); hash != "" {
		template = with(template, hash, "metadata", "labels", "pod-template-hash")
	}
	patch := []any{map[string]any{"op": "replace", "path": "/spec/template", "value": template}}
	if s.revision() == "" && s.base() == "" {
		annotations := map[string]any{AnnotationBaseRevision: revisionOf(s)}
		for k, v := range s.object.GetAnnotations() {
			annotations[k] = v
		}
		patch = append(patch, map[string]any{"op": "add", "path": "/metadata/annotations", "value": annotations})
	}
	return Step{Action{
		Name: "exchange", Mode: JSONPatch, Ref: setRef(s), UID: s.object.GetUID(), Body: patch,
		Text: "write the new template into replicaset/" + s.object.GetName(),
	}}
}

func revisionOf(s *set) string { return revision(s.template()) }

// clash deletes empty older ReplicaSets that have the wanted template: the
// controller would take the oldest of them for its newest and roll to it.
func (d *deployment) clash(r *rollout) Step {
	var step Step
	for i := range d.sets {
		s := &d.sets[i]
		if s != d.current && same(s.template(), r.want) && len(d.members[s.object.GetName()]) == 0 {
			step = append(step, Action{
				Name: "clash", Mode: Delete, Ref: setRef(s), UID: s.object.GetUID(),
				Text: "delete the empty replicaset/" + s.object.GetName() + ", which has the new template already",
			})
		}
	}
	return step
}

// releaseStep unpauses once the controller has counted the current ReplicaSet as
// its newest, and no pod of another one would be rolled while pods are patched.
func (d *deployment) releaseStep(r *rollout) Step {
	if !d.hold {
		return nil
	}
	counted := numberAt(d.object.Object, 0, "status", "updatedReplicas") >= numberAt(d.current.object.Object, 0, "status", "replicas")
	if !observed(d.object) || !counted {
		r.waits = "for the Deployment's controller to find its ReplicaSet"
		return nil
	}
	if others := len(d.pods()) > len(d.members[d.current.object.GetName()]); others && (r.inPlacePending() || d.overestimates(r)) {
		return nil
	}
	return d.free(r)
}

func (d *deployment) release(r *rollout) Action {
	paused, _ := at(r.manifest.Object, "spec", "paused").(bool)
	return Action{
		Name: "release", Mode: StrategicPatch, Ref: d.ref(), UID: d.object.GetUID(),
		Body: map[string]any{
			"metadata": map[string]any{"uid": string(d.object.GetUID()), "annotations": map[string]any{AnnotationRollout: nil}},
			"spec":     map[string]any{"paused": paused},
		},
		Text: "unpause " + d.ref().String(),
	}
}

// keepPaused keeps the pause in an apply that Git's own text would end.
func (d *deployment) keepPaused(body map[string]any) map[string]any {
	if d.hold {
		return held(body)
	}
	return body
}

func unchanged(body map[string]any) map[string]any { return body }

// applyChanged applies Git's text if the live object differs from it.
func (d *deployment) applyChanged(r *rollout, adjust func(map[string]any) map[string]any) Step {
	except := [][]string{{"spec", "template", "metadata", "labels", LabelRevision}}
	if d.hold {
		except = append(except, []string{"spec", "paused"}, rolloutPath)
	}
	if !r.differs(except...) {
		return nil
	}
	body := r.applyBody()
	if label := d.revision(r); label != "" {
		body = labelled(body, label)
	}
	return Step{r.apply("apply", adjust(body), "apply "+r.manifest.Ref.String())}
}

func (d *deployment) ref() Ref {
	return Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: d.object.GetNamespace(), Name: d.object.GetName()}
}

func setRef(s *set) Ref {
	return Ref{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: s.object.GetNamespace(), Name: s.object.GetName()}
}
