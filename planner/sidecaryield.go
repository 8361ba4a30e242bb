package planner

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A set's pods may be on their way through another update. That one goes first: the
// set touches no pod that its workload is about to touch, and none that is
// available while its workload still has pods to update, so that the two never make
// more pods unavailable than one of them may. What the set has restarted counts as
// unavailable for the workload, too, from the moment of the patch.

// elsewhere is what the rest of the plan does to a pod.
type elsewhere struct {
	by   string // the workload
	soon bool   // it touches this very pod
}

// elsewhereIn tells which pods belong to a workload that is at work: some of its
// pods are to be touched, or on their way, and not for this set.
func elsewhereIn(plans []WorkloadPlan, own map[types.UID]bool) map[types.UID]elsewhere {
	found := map[types.UID]elsewhere{}
	for i := range plans {
		busy := slices.ContainsFunc(plans[i].Pods, func(p PodPlan) bool {
			return p.Turn > 0 || !p.Done && p.State == Progressing && !own[p.UID]
		})
		for _, pod := range plans[i].Pods {
			if busy && !found[pod.UID].soon {
				found[pod.UID] = elsewhere{by: plans[i].Ref.String(), soon: pod.Turn > 0}
			}
		}
	}
	return found
}

// yield leaves pods to their workload where it is at work. A pod that is not
// available has nothing to lose, unless it is touched itself.
func (r *rollout) yield(s *sidecarSet, plans []WorkloadPlan) {
	own := map[types.UID]bool{}
	for i := range r.cases {
		c := &r.cases[i]
		own[c.pod.UID] = !c.progress.available && c.mark.Version > 0
	}
	others, restarting := elsewhereIn(plans, own), r.restartingElsewhere(s)
	for i := range r.cases {
		c := &r.cases[i]
		at, busy := others[c.pod.UID]
		switch pod := restarting[controllerOf(c.pod)]; {
		case c.turn != 1:
		case busy && (at.soon || c.progress.available):
			c.turn, c.blocked = 2, "after the update of "+at.by
		case pod != "" && c.progress.available:
			c.turn, c.blocked = 2, "pod "+pod+" of the same workload restarts"
		}
	}
}

// restartingElsewhere names a pod of each controller that somebody else has
// patched, and that has not restarted yet or is not ready since: its workload, which
// may be of another source, or another set, whose plan may come after this one.
func (r *rollout) restartingElsewhere(s *sidecarSet) map[types.UID]string {
	found := map[types.UID]string{}
	for i := range r.cases {
		c := &r.cases[i]
		if owner := controllerOf(c.pod); owner != "" && r.awayForOthers(s, c) {
			found[owner] = c.pod.Name
		}
	}
	return found
}

func (r *rollout) awayForOthers(s *sidecarSet, c *podCase) bool {
	var last time.Time
	for _, mark := range append(sidecarMarksBut(c.pod, s.Set), markOf(c.pod)) {
		if unproven(c.pod, mark, r.now) != "" {
			return true
		}
		if len(mark.Restart) > 0 {
			last = latest(last, mark.At)
		}
	}
	_, ready := readySince(c.pod)
	return !ready && last.After(c.mark.At) && !progressOf(c.pod, markOf(c.pod), r.now, 0, r.settings.Deadline).broken
}

func controllerOf(pod *corev1.Pod) types.UID {
	for i := range pod.OwnerReferences {
		if ref := &pod.OwnerReferences[i]; ref.Controller != nil && *ref.Controller {
			return ref.UID
		}
	}
	return ""
}
