package planner

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

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

func leaves(pod *corev1.Pod) bool { return pod.Annotations[AnnotationLeaves] != "" }

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
	case over > len(going) && r.marksThoseThatGo():
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
	if sure := r.markAll(going); len(sure) < len(going) {
		n.replicas = n.live - len(sure)
		if r.takesOthers(sure, over-len(going)) {
			n.replicas = n.live
		}
	}
	r.unmark()
}

// marksThoseThatGo: which pods go is not left to the controller.
func (r *rollout) marksThoseThatGo() bool {
	return r.settings.Hooks.BeforeDelete != nil || r.budget.Partition > 0
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
// the partition keeps, as far as the controller lets situ choose.
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
	slices.SortStableFunc(first, func(a, b *podCase) int { return slices.Compare(class(a), class(b)) })
	return first[:min(n, len(first))]
}

// rank is lower for a pod that goes earlier.
func rank(c *podCase) []int {
	since, _ := readySince(c.pod)
	return append(class(c),
		intOf(!leaves(c.pod)), intOf(stageOf(c.pod) != stagePreparingDelete), intOf(c.current), int(-since.Unix()))
}

// class is lower for a pod that the controller deletes earlier, whatever is marked:
// a mark only decides within a class.
func class(c *podCase) []int {
	_, ready := readySince(c.pod)
	return []int{intOf(c.pod.Spec.NodeName != ""), intOf(c.pod.Status.Phase != corev1.PodPending), intOf(ready)}
}

func intOf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// takesOthers: more pods than are free to go are of a lower class than one that
// goes. The controller would delete those first.
func (r *rollout) takesOthers(going []*podCase, free int) bool {
	var last []int
	for _, c := range going {
		if of := class(c); slices.Compare(of, last) > 0 {
			last = of
		}
	}
	for i := range r.cases {
		if c := &r.cases[i]; slices.Compare(class(c), last) < 0 && !slices.Contains(going, c) {
			free--
		}
	}
	return free < 0
}

// markAll brings pods past their hooks and marks them. It tells those whose mark is
// sure to be seen.
func (r *rollout) markAll(going []*podCase) (sure []*podCase) {
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
		sure = append(sure, c)
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
