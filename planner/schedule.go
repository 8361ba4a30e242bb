package planner

import (
	"slices"
	"strings"
)

func (r *rollout) count(h host) {
	available := max(0, r.available()-h.leaving())
	promise := r.settings.MaxUnavailable
	if promise == nil {
		promise = h.maxUnavailable()
	}
	r.promise = promise
	if r.numbers.moved {
		r.surplus = max(0, available-h.replicas())
	}
	partition := r.settings.Partition
	if partition == nil {
		partition = h.partition()
	}
	home := false
	if set, ok := h.(*replicaSet); ok && partition != nil && set.home(r) {
		partition, home = nil, true
	}
	defer func() {
		if home {
			r.budget.Text += "; the partition keeps none, since the template that it keeps is wanted"
		}
		if away := r.unavailable(); r.budget.Room == 0 && len(away) > 0 {
			r.budget.Text += ", used up by " + strings.Join(away, ", ")
		}
		if r.scaler != "" {
			r.budget.Text += "; replicas are left to " + r.scaler
		}
		r.budget.Text += r.surgeText()
	}()
	r.budget = Count(h.replicas(), available, partition, promise, h.floor())
	if r.budget.MaxUnavailable == 0 && r.settings.Explicit && r.settings.MaxUnavailable == nil {
		r.budget = Count(h.replicas(), available, partition, &Amount{Value: 1}, h.floor())
		r.budget.Text += " (the update type was asked for, so one pod at a time may restart)"
	}
}

// unavailable names the first few pods that use the budget up.
func (r *rollout) unavailable() []string {
	const most = 5
	var names []string
	for i := range r.cases {
		if r.cases[i].progress.available {
			continue
		}
		if len(names) == most {
			return append(names, "and others")
		}
		names = append(names, r.cases[i].pod.Name)
	}
	return names
}

// refuseAll keeps every pod as it is when one of them must not be changed: a
// refusal is known before any pod is touched.
func (r *rollout) refuseAll() {
	for i := range r.cases {
		if r.cases[i].verdict != Refuse {
			continue
		}
		r.held = "refused"
		return
	}
}

// leaveRoom is the floor rule: a restart in place makes a pod unavailable for a
// moment. Where the workload promises that none ever is, its successor comes
// first instead, unless the update type was written down by a person. A pod that
// is unavailable already has nothing to lose.
func (r *rollout) leaveRoom(h host) {
	if r.budget.MaxUnavailable > 0 || !h.surges() || !slices.ContainsFunc(r.cases, func(c podCase) bool {
		return c.verdict == Restart && c.progress.available
	}) {
		return
	}
	r.renewing = true
	for i := range r.cases {
		if !r.cases[i].current {
			r.cases[i].recreate(noRoom)
		}
	}
}

var noRoom = Reason{
	Rule: "no-room", Field: "spec.strategy.rollingUpdate.maxUnavailable",
	Text: "maxUnavailable leaves no room for a restart in place, so a new pod comes first; annotation " +
		AnnotationUpdate + ": " + string(InPlaceIfPossible) + " restarts in place all the same",
}

// all reports whether there are pods to update and they share one verdict.
func (r *rollout) all(v Verdict) bool {
	outdated := 0
	for i := range r.cases {
		if r.cases[i].current || r.cases[i].kept != "" {
			continue
		}
		outdated++
		if r.cases[i].verdict != v {
			return false
		}
	}
	return outdated > 0
}

// schedule gives each outdated pod its turn.
//
//	kept by partition, pause or refusal   never by this commit
//	its controller replaces it            later, as the controller sees fit
//	nothing becomes unavailable           now
//	unavailable already                   now, it costs nothing; not if it only waits
//	                                      for its hook, and the rollout has stopped
//	a PodDisruptionBudget forbids it      later, and the next pod is asked for
//	room in the budget                    now; for what is made anew also while
//	                                      there are more pods than wanted
//	else                                  in a later turn
func (r *rollout) schedule(h host, allowed *disruptions) {
	if !h.byOrdinal() {
		r.keepPartition()
	}
	set, isSet := h.(*replicaSet)
	if isSet {
		set.bringBack(r)
		r.departing(len(set.members))
	}
	r.native = (h.byOrdinal() || !r.keepsSome()) && r.renewing && r.all(Recreate)
	r.stopped = r.firstBroken()
	room, later := r.rooms(), 0
	for i := range r.cases {
		c := &r.cases[i]
		if c.current || c.kept != "" {
			continue
		}
		if r.held != "" {
			c.kept = r.held
			continue
		}
		switch {
		case c.foreign:
			c.turn = 2
		case c.verdict < Restart, !c.progress.available && !r.stopsBefore(c):
			c.turn = 1
		case room.has(c) && (r.stopped == "" || c.asked) && c.mayRestart(allowed):
			c.turn = 1
			room.take(c)
		default:
			c.turn = 2 + later/max(1, r.budget.MaxUnavailable)
			later++
		}
	}
	if isSet {
		r.depart(len(set.members))
	}
}

// mayRestart asks the PodDisruptionBudgets.
func (c *podCase) mayRestart(allowed *disruptions) bool {
	c.blocked = allowed.take(c.pod)
	return c.blocked == ""
}

// keepPartition keeps the last pods of the order at the old template. A host
// that counts by ordinal has said so in keeps.
func (r *rollout) keepPartition() {
	if r.budget.Partition == 0 {
		return
	}
	current := r.current()
	updatable := min(r.budget.Replicas-r.budget.Partition-current, len(r.cases)-current-r.budget.Partition)
	for i := range r.cases {
		c := &r.cases[i]
		if c.current || c.kept != "" || c.asked {
			continue
		}
		if updatable <= 0 {
			c.kept = keptByPartition
		}
		updatable--
	}
}

const (
	keptByPartition = "kept by partition"
	keptPaused      = "kept while updates are paused"
)

// keepsSome: pods stay as they are, though their host's controller would not know.
func (r *rollout) keepsSome() bool {
	return slices.ContainsFunc(r.cases, func(c podCase) bool { return c.kept != "" })
}

// firstBroken names an updated pod that will not come up: it stops the rollout.
func (r *rollout) firstBroken() string {
	for i := range r.cases {
		if c := &r.cases[i]; c.progress.broken && r.reachedBy(c) {
			return "pod " + c.pod.Name + ": " + c.progress.text
		}
	}
	return ""
}

// reachedBy: this update has come to the pod, if only with its first batch. What
// an earlier one has left unfinished is not its fault.
func (r *rollout) reachedBy(c *podCase) bool {
	return c.current || c.mark.Partial && c.mark.Revision == revision(r.want)
}
