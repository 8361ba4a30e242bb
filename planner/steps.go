package planner

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podStep are the actions on pods whose turn is now: patched, or deleted so that
// their controller makes them anew.
func (r *rollout) podStep(patch func(podCase) Action) Step {
	step := r.inPlaceStep(patch)
	for _, c := range r.cases {
		if c.turn == 1 && c.verdict == Recreate && !c.waits {
			action, letGo := r.beforeDelete(c)
			if letGo {
				step = append(step, deletePod(c))
			} else if action != nil {
				step = append(step, *action)
			}
		}
	}
	return step
}

// inPlaceStep leaves pods that must be recreated to their controller.
func (r *rollout) inPlaceStep(patch func(podCase) Action) Step {
	var step Step
	for _, c := range r.cases {
		if c.turn != 1 || c.verdict >= Recreate {
			continue
		}
		if action, ok := r.next(c, patch); ok {
			step = append(step, action)
		}
	}
	return step
}

// awaitResize takes a pod for unavailable from the moment that a resize which
// restarts a container was sent: it will be, though it does not show yet.
func (r *rollout) awaitResize(c *podCase) {
	if r.resizedItself(c.pod) {
		r.awaitOwnResize(c)
		return
	}
	if !c.resizes || c.verdict != Restart || !resizeSent(c.pod, r.want) {
		return
	}
	if done, text := resizeDone(c.pod, r.want); !done {
		c.progress.available, c.progress.text = false, text
	}
}

// resizedItself: a bare pod is its own template. No change is left to see once
// the resize was sent, so the kubelet's word is all there is. Its first
// generation was never resized.
func (r *rollout) resizedItself(pod *corev1.Pod) bool {
	return r.manifest.Kind == "Pod" && pod.Generation > 1 && resizeSent(pod, r.want)
}

// awaitOwnResize: a bare pod has arrived when its resources are in force, and
// never will if the node has said so, or has put it off for too long.
func (r *rollout) awaitOwnResize(c *podCase) {
	done, text := resizeDone(c.pod, r.want)
	if done || c.progress.broken {
		return
	}
	limit := pendingSince(c.pod).Add(r.settings.Deadline)
	switch pending := resizePending(c.pod); {
	case pending == "":
		c.progress = progress{text: text}
	case pending == corev1.PodReasonInfeasible:
		c.progress = progress{text: text, broken: true}
	case r.now.Before(limit):
		c.progress = progress{text: text, wake: limit}
	default:
		c.progress = progress{text: fmt.Sprintf("%s, for longer than %s", text, r.settings.Deadline), broken: true}
	}
}

// steps are what to do now: first what makes the host's own steps safe.
func (r *rollout) steps(h host, snap Snapshot) []Step {
	pull := r.pullImages(snap)
	if back := r.revertStep(h); back != nil {
		return []Step{back}
	}
	if r.blocked() && !r.begun() {
		r.waits = r.firstPull()
		return steps(pull, r.openStep(), r.stageStep())
	}
	own := h.steps(r)
	if len(own) > 0 && !r.begun() {
		own = append(steps(r.trial()), own...)
	}
	return steps(append(own, pull, r.openStep(), r.stageStep(), r.forgetStep())...)
}

// trial asks the server, before anything is changed, whether it would let a pod
// be patched so: an admission policy may know better.
func (r *rollout) trial() Step {
	for _, c := range r.cases {
		if c.turn > 0 && len(c.patched) > 0 && c.verdict == Restart {
			action := patchPod(c, r.want, nil, r.mark(c, revision(r.want)))
			action.Name, action.DryRun, action.Text = "trial", true, "ask whether pod/"+c.pod.Name+" may be patched"
			return Step{action}
		}
	}
	return nil
}

// mark is what a patch decided now leaves on the pod.
func (r *rollout) mark(c podCase, revision string) Mark {
	mark := markFor(c, r.commit.ID, revision)
	mark.At, mark.Alias = r.now.UTC().Truncate(time.Second), aliases(c)
	return mark
}
