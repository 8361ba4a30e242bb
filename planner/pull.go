package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The kubelet stops the old container before it pulls the new image. So before
// the first container is stopped, its new image is brought to its node: by a pod
// pinned to the node whose command does not exist. The kubelet pulls, the start
// fails, and the image is there. A bad image reference then costs nothing.

// maxPulls bounds the pods that bring images to nodes at one time, per workload
// that made them. One that has done so stays as a proof while pods there need the
// image. Ahead of their turn pods get no more than the bound, proofs included;
// those whose turn it is are never kept waiting by proofs.
const maxPulls = 10

// pulls are the pods that bring images to nodes, as the workloads of one plan see
// them. Whoever needs a pod that is not there asks for it; the first to be carried
// out makes it, for all. It is its maker's to remove, once nobody needs it.
type pulls struct {
	there   map[Ref]*corev1.Pod
	refused map[Ref]string // by what such pods have in common on any node: why the server takes none
	needed  map[Ref]bool
	makers  map[Ref]types.UID // workloads that have said what they need
}

func newPulls(snap Snapshot) *pulls {
	p := &pulls{there: map[Ref]*corev1.Pod{}, refused: map[Ref]string{}, needed: map[Ref]bool{}, makers: map[Ref]types.UID{}}
	for _, pod := range snap.Pulls {
		if PulledFor(pod) != "" && pod.DeletionTimestamp == nil {
			p.there[podRef(pod)] = pod
		}
	}
	for _, ref := range inNameOrder(snap.Refused) {
		if ref.Kind == "Pod" && strings.HasPrefix(ref.Name, pullPrefix) {
			p.refused[onAnyNode(ref)] = snap.Refused[ref]
		}
	}
	return p
}

// madeBy counts the pods that a workload has made, and those that are not done.
func (p *pulls) madeBy(workload types.UID) (made, unfinished int) {
	for _, pod := range p.there {
		if PulledFor(pod) != workload {
			continue
		}
		made++
		if !pulled(pod) {
			unfinished++
		}
	}
	return made, unfinished
}

// tidy adds to each workload's plan the removal of what it made and nobody needs.
func (p *pulls) tidy(plan *Plan) {
	inOrder := inNameOrder(p.there)
	for i := range plan.Workloads {
		w := &plan.Workloads[i]
		maker, looked := p.makers[w.Ref]
		if !looked {
			continue
		}
		var unneeded Step
		for _, ref := range inOrder {
			pod := p.there[ref]
			if PulledFor(pod) != maker {
				continue
			}
			w.Cleanup = append(w.Cleanup, removePull(pod))
			if !p.needed[ref] {
				unneeded = append(unneeded, removePull(pod))
			}
		}
		w.add(unneeded)
	}
}

// tidyLeft removes what a workload made that has left Git in the middle of an
// update: it is still in the cluster, so no garbage collector does. Another
// workload of its namespace does it in its place.
func (p *pulls) tidyLeft(plan *Plan, commit Commit, snap Snapshot) {
	if commit.Source == "" || len(commit.Problems) > 0 {
		return
	}
	present := map[types.UID]bool{}
	for _, live := range snap.Live {
		if live.Object != nil {
			present[live.Object.GetUID()] = true
		}
	}
	left := map[string]Step{}
	for _, ref := range inNameOrder(p.there) {
		pod := p.there[ref]
		if pod.Annotations[AnnotationSource] == commit.Source && !present[PulledFor(pod)] && !p.needed[ref] {
			left[ref.Namespace] = append(left[ref.Namespace], removePull(pod))
		}
	}
	for i := range plan.Workloads {
		w := &plan.Workloads[i]
		w.add(left[w.Namespace])
		delete(left, w.Namespace)
	}
}

// add puts one more step behind those that a workload has already.
func (w *WorkloadPlan) add(step Step) {
	if len(step) == 0 {
		return
	}
	w.Steps = append(w.Steps, step)
	if w.Verdict != Refuse {
		w.State, w.Text = Progressing, "updating"
	}
}

func inNameOrder[V any](refs map[Ref]V) []Ref {
	return slices.SortedFunc(maps.Keys(refs), func(a, b Ref) int { return strings.Compare(a.String(), b.String()) })
}

// pullImages finds for each pod that is to restart whether its new images are on
// its node. Pods that lack one wait; the step brings it there, also for pods of
// later turns.
func (r *rollout) pullImages(snap Snapshot) Step {
	if source := foreignSource(r.commit, r.live.Object); source != "" && !taken(r.commit, source) {
		return nil // its pulls are that one's as well
	}
	r.pulls.makers[r.manifest.Named()] = r.uid()
	if r.commit.Policy.Pull == PullNever {
		return nil
	}
	made, pulling := r.pulls.madeBy(r.uid())
	asked := map[Ref]bool{}
	var step Step
	for _, c := range r.restartingByTurn() {
		node := c.pod.Spec.NodeName
		for _, image := range newImages(*c) {
			ref := r.pullRef(c.pod, image)
			pod, isThere := r.pulls.there[ref]
			r.pulls.needed[ref] = true // also as a proof, until the pods there have it
			if snap.Images[node][canonical(image)] || r.runsOn(node, image) || pulled(pod) {
				continue
			}
			if text := r.pulls.refused[onAnyNode(ref)]; text != "" && !isThere {
				r.notPulled(c, image, text)
				continue
			}
			c.pulling = fmt.Sprintf("image %s is pulled to node %s", image, node)
			if text := pullFailure(pod); text != "" {
				c.pulling = clip(fmt.Sprintf("image %s cannot be pulled to node %s: %s", image, node, text))
				r.stopped = "pod " + c.pod.Name + ": " + c.pulling
			}
			ahead := c.turn > 1 && made+len(step) >= maxPulls
			if !isThere && !asked[ref] && !ahead && pulling < maxPulls {
				step = append(step, r.pullPod(ref, node, image))
				asked[ref] = true
				pulling++
			}
		}
	}
	return step
}

// notPulled: the server takes no pod that brings the image to a node. Whether the
// pods there go without is for the person who runs situ to say.
func (r *rollout) notPulled(c *podCase, image, text string) {
	text = "image " + image + " cannot be pulled ahead of the restart: " + text
	if r.commit.Policy.Pull == PullIfAllowed {
		c.reasons = append(c.reasons, Reason{Rule: "not-pulled", Text: text})
		return
	}
	c.pulling = clip(text)
	r.stopped = "pod " + c.pod.Name + ": " + c.pulling
}

// restartingByTurn are the pods that are to restart, in the order of their turns.
func (r *rollout) restartingByTurn() []*podCase {
	var some []*podCase
	for i := range r.cases {
		if c := &r.cases[i]; c.turn > 0 && c.verdict == Restart {
			some = append(some, c)
		}
	}
	slices.SortStableFunc(some, func(a, b *podCase) int { return a.turn - b.turn })
	return some
}

// runsOn: one of the workload's own pods runs the image on that node.
func (r *rollout) runsOn(node, image string) bool {
	for i := range r.cases {
		pod := r.cases[i].pod
		if pod.Spec.NodeName != node {
			continue
		}
		for j := range pod.Status.ContainerStatuses {
			status := &pod.Status.ContainerStatuses[j]
			if status.State.Running != nil && sameName(status.Image, image) {
				return true
			}
		}
	}
	return false
}

// newImages are the images that a pod's patch brings. An alias of the image that
// runs already is none.
func newImages(c podCase) []string {
	var images []string
	for _, change := range c.changes {
		name, _ := change.Container()
		image, isText := change.New.(string)
		if isText && slices.Contains(c.patched, name) && change.path[len(change.path)-1].key == "image" && !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	return images
}

// firstPull says what image the first pod waits for.
func (r *rollout) firstPull() string {
	for i := range r.cases {
		if r.cases[i].pulling != "" {
			return "pod " + r.cases[i].pod.Name + ": " + r.cases[i].pulling
		}
	}
	return ""
}

// begun: the host has the wanted template already.
func (r *rollout) begun() bool { return same(templateOf(r.live.Object.Object), r.want) }

// blocked: every pod whose turn is now waits for an image. Where none is wanted,
// nobody needs it.
func (r *rollout) blocked() bool {
	waiting := false
	if !r.foreignReplicas() && numberAt(r.proof.Object.Object, 1, "spec", "replicas") == 0 {
		return false
	}
	for i := range r.cases {
		c := &r.cases[i]
		if c.turn == 1 && c.pulling == "" {
			return false
		}
		waiting = waiting || c.turn == 1
	}
	return waiting
}
