package planner

import (
	"fmt"
	"slices"

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
//	                   deletes pods that are not ready first, and among equals
//	                   those of the lowest deletion cost
//
// A pod that is to be replaced is deleted by its UID instead, and so is one that
// the controller would not choose, since another pod is not ready: it takes those
// first. The number that Git wants and the pods that there are say it all; nothing
// else is remembered.

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
