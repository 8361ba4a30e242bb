package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// report writes what was decided into the plan.
func (r *rollout) report(plan *WorkloadPlan, wake *time.Time) {
	plan.Budget = r.budget
	plan.Pods = make([]PodPlan, 0, len(r.cases))
	for i := range r.cases {
		c := &r.cases[i]
		plan.Pods = append(plan.Pods, r.podPlan(c))
		plan.Verdict = max(plan.Verdict, c.verdict)
		plan.Containers = append(plan.Containers, c.containers...)
		for _, reason := range c.reasons {
			if !slices.Contains(plan.Reasons, reason) {
				plan.Reasons = append(plan.Reasons, reason)
			}
		}
		if w := c.progress.wake; !w.IsZero() && (wake.IsZero() || w.Before(*wake)) {
			*wake = w
		}
	}
	if w := r.wake; !w.IsZero() && (wake.IsZero() || w.Before(*wake)) {
		*wake = w
	}
	plan.Containers = slices.Compact(slices.Sorted(slices.Values(plan.Containers)))
	plan.State, plan.Text = r.state(len(plan.Steps) > 0)
}

func (r *rollout) podPlan(c *podCase) PodPlan {
	p := PodPlan{
		Name: c.pod.Name, UID: c.pod.UID, Verb: c.verdict, Turn: c.turn, Reasons: c.reasons,
		Done: c.current && c.progress.available, State: Progressing, Text: c.progress.text, Drift: c.drift,
	}
	switch {
	case p.Done:
		p.State = Settled
	case c.verdict == Refuse:
		p.State = Failed
	case c.departs:
		p.Turn, p.Text = 1, cmp.Or(p.Text, c.kept)
	case c.kept != "":
		p.State, p.Text = Held, c.kept
	case c.progress.broken && c.current:
		p.State = Failed
	case c.pulling != "":
		p.Text = c.pulling
	case c.blocked != "":
		p.Text = c.blocked
	}
	return p
}

// state is how far the workload is.
//
//	refused, or an updated pod is broken          failed
//	something was decided, or is on the way       progressing
//	the host's own controller gave up             failed
//	pods are kept as they are on purpose          held
func (r *rollout) state(acting bool) (State, string) {
	kept, missing := 0, max(0, r.budget.Replicas-len(r.cases))
	var waiting string
	for i := range r.cases {
		c := &r.cases[i]
		switch {
		case c.verdict == Refuse:
			return Failed, "refused: " + strings.TrimPrefix(c.reasons[0].Field+": ", ": ") + c.reasons[0].Text
		case c.kept != "":
			kept++
		case !c.progress.available && waiting == "":
			waiting = "pod " + c.pod.Name + ": " + c.progress.text
		}
	}
	switch {
	case acting:
		return Progressing, "updating"
	case r.stopped != "":
		return Failed, r.stopped
	case r.live.Health.Status == "Failed" && !r.backsOff():
		return Failed, r.live.Health.Text
	case r.waits != "":
		return Progressing, r.waits
	case waiting != "":
		return Progressing, waiting
	case missing > 0:
		return Progressing, fmt.Sprintf("%d of %d pods are not there yet", missing, r.budget.Replicas)
	case r.pending() > 0 && r.budget.MaxUnavailable == 0 && !r.native && r.numbers.surge == 0:
		return Held, "maxUnavailable 0 leaves no room for a restart"
	case r.blockedBy() != "":
		return Progressing, r.blockedBy()
	case r.pending() > 0:
		return Progressing, fmt.Sprintf("%d pods to go", r.pending())
	case r.held != "":
		return Held, r.held
	case kept > 0:
		return Held, fmt.Sprintf("%d pods %s", kept, r.keptWhy())
	case r.live.Health.Status == "InProgress":
		return Progressing, r.live.Health.Text
	case r.reverted != "":
		return Failed, "taken back: " + r.reverted
	}
	return Settled, ""
}

// backsOff: the kubelet lets a container wait that an update has stopped, which
// looks like a crash loop to others.
func (r *rollout) backsOff() bool {
	return slices.ContainsFunc(r.cases, func(c podCase) bool {
		return slices.ContainsFunc(c.pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
			return status.State.Waiting != nil && (stoppedByUpdate(&status, append(sidecarMarks(c.pod), c.mark)...) || stoppedByResize(c.pod, &status))
		})
	})
}

// blockedBy says who forbids to touch the first pod that waits.
func (r *rollout) blockedBy() string {
	for i := range r.cases {
		if r.cases[i].blocked != "" {
			return r.cases[i].blocked
		}
	}
	return ""
}

func (r *rollout) keptWhy() string {
	for i := range r.cases {
		if r.cases[i].kept != "" {
			return r.cases[i].kept
		}
	}
	return ""
}
