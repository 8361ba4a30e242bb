package planner

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A ReplicaSet knows neither a surge nor which of its pods are to go. Where a
// workload asks for one of the two, has a hook that pods wait for before they are
// deleted, or a partition that keeps some, situ moves the number of replicas itself:
//
//	wanted + surge     while pods must be made anew: new ones come first. Not more
//	                   than still have to be, and none while updates are paused
//	as it is           while a pod that is to go waits for its hook
//	less               once the pods that are to go are marked: the controller
//	                   deletes ready pods by their deletion cost, lowest first
//
// A pod that is to be replaced is deleted by its UID instead, and so is one that
// the controller would not choose, since another pod is not ready: it takes those
// first. The number that Git wants and the pods that there are say it all; nothing
// else is remembered.

// AnnotationLeaves is on a pod that goes as soon as the number of pods is lowered,
// beside the deletion cost that makes its ReplicaSet's controller choose it. It
// says since when.
const AnnotationLeaves = Domain + "/leaves"

// lowest is a deletion cost that no pod can have a lower one than.
const lowest = "-2147483648"

// sureSeen is how long a mark stands before pods are counted on to go by it:
// pods and ReplicaSets are watched separately, and the controller must see the
// mark first.
const sureSeen = 2 * time.Second

// numbers is how many pods a ReplicaSet has, and which of them go without being
// replaced.
type numbers struct {
	moved    bool // situ moves them; else they are Git's, or somebody else's
	wanted   int  // by Git
	live     int  // of the ReplicaSet now
	surge    int  // more than wanted, at most
	replicas int  // of the ReplicaSet from now on
	marks    Step // on pods that go, or do not any more
}

// newNumbers: somebody else's replicas are not moved, whatever is asked for.
func newNumbers(r *rollout, live int, members []*corev1.Pod) numbers {
	n := numbers{live: live, wanted: live, replicas: live}
	if r.manifest.Hosting == nil || r.foreignReplicas() {
		return n
	}
	asks := r.settings.MaxSurge != nil || r.settings.Hooks.BeforeDelete != nil || r.settings.Partition != nil
	n.moved = asks || slices.ContainsFunc(members, func(pod *corev1.Pod) bool { return r.askedFor(pod) || leaves(pod) })
	if !n.moved {
		return n
	}
	n.wanted = numberAt(r.proof.Object.Object, 1, "spec", "replicas")
	n.replicas = n.wanted
	if r.settings.keeps() == "" {
		n.surge = resolveSurge(r.settings.MaxSurge, n.wanted)
	}
	return n
}

// resolveSurge rounds a share up.
func resolveSurge(surge *Amount, replicas int) int {
	switch {
	case surge == nil:
		return 0
	case surge.Percent:
		return (replicas*surge.Value + 99) / 100
	}
	return surge.Value
}

func leaves(pod *corev1.Pod) bool { return pod.Annotations[AnnotationLeaves] != "" }

// room is how many available pods may go now.
type room struct {
	restart int // become unavailable for a moment
	anew    int // or be deleted. Where a new pod comes first, a share that is less than one pod is none
	surplus int // there are more than wanted, so that one may be deleted for nothing
}

// rooms adds what a surge gives: only pods that must be made anew use it.
func (r *rollout) rooms() room {
	open := room{restart: r.budget.Room, anew: r.budget.Room, surplus: r.surplus}
	if n := r.numbers; n.surge > 0 {
		strict := resolveMaxUnavailable(r.promise, n.wanted, 0)
		open.anew = min(open.anew, max(0, strict-r.budget.Unavailable))
	}
	return open
}

// surgeText is what the budget says of a surge.
func (r *rollout) surgeText() string {
	switch {
	case r.settings.MaxSurge == nil || resolveSurge(r.settings.MaxSurge, 100) == 0:
		return ""
	case !r.numbers.moved:
		return "; no surge, since the replicas are not Git's"
	case r.numbers.surge == 0:
		return "; no surge while no pod is updated"
	}
	return fmt.Sprintf("; maxSurge %s is %d, for pods that must be made anew", r.settings.MaxSurge, r.numbers.surge)
}

func (o *room) has(c *podCase) bool {
	if c.verdict == Recreate {
		return o.surplus+o.anew > 0
	}
	return o.restart > 0
}

func (o *room) take(c *podCase) {
	if c.verdict == Recreate && o.surplus > 0 {
		o.surplus--
		return
	}
	o.restart, o.anew = max(0, o.restart-1), max(0, o.anew-1)
}

// departing finds the pods that the controller is about to delete, since the
// number of pods is lowered already: nothing else is done with them.
func (r *rollout) departing(members int) {
	about := members - r.numbers.live
	for i := range r.cases {
		if c := &r.cases[i]; about > 0 && leaves(c.pod) {
			c.depart()
			about--
		}
	}
}

func (c *podCase) depart() { c.departs, c.kept, c.turn = true, "goes, and no other takes its place", 0 }

// depart settles how many pods there are from now on, and which go without being
// replaced. The number stays up while one of them waits for its hook, or its mark
// is fresh.
func (r *rollout) depart(members int) {
	n := &r.numbers
	if !n.moved || r.held != "" {
		return
	}
	going, later := r.going()
	target := n.wanted + min(n.surge, later)
	if r.stopped != "" {
		target = min(target, max(n.live, n.wanted))
	}
	over := n.live - target
	switch {
	case members > n.live:
		n.replicas, r.waits = n.live, "for the ReplicaSet's controller to delete the pods that go"
		return
	case over > len(going) && (r.settings.Hooks.BeforeDelete != nil || r.budget.Partition > 0):
		going = append(going, r.firstToGo(over-len(going))...)
	}
	going = going[:max(0, min(over, len(going)))]
	n.replicas = target
	if len(going) > 0 && r.takesOthers(going, over-len(going)) {
		n.replicas, going = n.live, nil // they are deleted by their UIDs, and replaced; then there is one too many
	}
	for _, c := range going {
		c.depart()
	}
	if sure := r.markAll(going); sure < len(going) {
		n.replicas = n.live - sure
	}
	r.unmark()
}

// going are the pods that are deleted now, and how many come later.
func (r *rollout) going() (now []*podCase, later int) {
	for i := range r.cases {
		c := &r.cases[i]
		switch {
		case c.verdict != Recreate || c.turn == 0:
		case c.turn == 1:
			now = append(now, c)
		default:
			later++
		}
	}
	return now, later
}

// firstToGo are pods in the order in which the controller would delete them. Those
// that are prepared for it already come first among the ready ones.
func (r *rollout) firstToGo(n int) []*podCase {
	var some []*podCase
	for i := range r.cases {
		if c := &r.cases[i]; !c.departs && (c.verdict != Recreate || c.turn != 1) {
			some = append(some, c)
		}
	}
	slices.SortStableFunc(some, func(a, b *podCase) int {
		return slices.Compare(rank(a), rank(b))
	})
	return r.spared(some, n)
}

// spared are the first of them, but only so many old and new ones as leave what
// the partition keeps.
func (r *rollout) spared(some []*podCase, n int) []*podCase {
	spare := map[bool]int{true: r.current() - r.numbers.wanted + r.budget.Partition, false: len(r.cases) - r.current() - r.budget.Partition}
	var first, rest []*podCase
	for _, c := range some {
		if spare[c.current] > 0 && len(first) < n {
			first, spare[c.current] = append(first, c), spare[c.current]-1
			continue
		}
		rest = append(rest, c)
	}
	first = append(first, rest...)
	return first[:min(n, len(first))]
}

// rank is lower for a pod that goes earlier.
func rank(c *podCase) []int {
	since, ready := readySince(c.pod)
	return []int{
		intOf(c.pod.Spec.NodeName != ""), intOf(c.pod.Status.Phase != corev1.PodPending), intOf(ready),
		intOf(!leaves(c.pod)), intOf(stageOf(c.pod) != stagePreparingDelete), intOf(c.current), int(-since.Unix()),
	}
}

func intOf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// takesOthers: more pods than are free to go are not ready. The controller would
// delete those first, whatever is marked.
func (r *rollout) takesOthers(going []*podCase, free int) bool {
	for i := range r.cases {
		c := &r.cases[i]
		if _, ready := readySince(c.pod); ready || slices.Contains(going, c) {
			continue
		}
		if free--; free < 0 {
			return true
		}
	}
	return false
}

// markAll brings pods past their hooks and marks them. It counts those whose mark
// is sure to be seen.
func (r *rollout) markAll(going []*podCase) (sure int) {
	for _, c := range going {
		if action, letGo := r.beforeDelete(*c); !letGo {
			if action != nil {
				r.numbers.marks = append(r.numbers.marks, *action)
			}
			continue
		}
		if !leaves(c.pod) {
			r.numbers.marks = append(r.numbers.marks, r.markLeaving(c.pod, r.now.UTC().Format(time.RFC3339), lowest))
			continue
		}
		since, err := time.Parse(time.RFC3339, c.pod.Annotations[AnnotationLeaves])
		if seen := since.Add(sureSeen + time.Second); err == nil && r.now.Before(seen) { // it tells whole seconds
			r.wakeAt(seen)
			r.waitFor(c.pod, "goes once the ReplicaSet's controller is sure to have seen that it is to go")
			continue
		}
		sure++
	}
	return sure
}

// unmark takes marks back from pods that stay.
func (r *rollout) unmark() {
	for i := range r.cases {
		if c := &r.cases[i]; leaves(c.pod) && !r.ends(c) {
			r.numbers.marks = append(r.numbers.marks, r.markLeaving(c.pod, nil, at(r.want, "metadata", "annotations", corev1.PodDeletionCost)))
		}
	}
}

func (r *rollout) markLeaving(pod *corev1.Pod, since, cost any) Action {
	text := "pod/" + pod.Name + " goes first when there are fewer pods"
	if since == nil {
		text = "pod/" + pod.Name + " stays after all"
	}
	return Action{
		Name: "leave", Mode: StrategicPatch, Ref: podRef(pod), UID: pod.UID, Text: text,
		Body: map[string]any{"metadata": map[string]any{
			"uid": string(pod.UID), "annotations": map[string]any{AnnotationLeaves: since, corev1.PodDeletionCost: cost},
		}},
	}
}
