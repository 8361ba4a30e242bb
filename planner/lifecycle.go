package planner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What others do to a pod before and after situ touches it, as OpenKruise names
// it: a hook is a label or a finalizer that a controller of the user's takes away
// once it is done, and puts back after an update.
//
//	Normal            an update that restarts containers comes: PreparingUpdate,
//	                  if the pod has one of the hook's labels or finalizers
//	PreparingUpdate   until it has none of them any more; then the pod is patched
//	Updating          until the new containers are proven
//	Updated           until it has all of them again
//	PreparingDelete   until it has none of those of the other hook; then it is deleted
//
// Where a pod stands is written on the pod, what it is to become is in Git: each
// round derives the next step from the two, so that nothing is lost if situ ends
// at any moment. A target that goes away takes the pod back.

// LabelLifecycle says where a pod stands, and AnnotationLifecycle since when.
const (
	LabelLifecycle      = "lifecycle.apps.kruise.io/state"
	AnnotationLifecycle = "lifecycle.apps.kruise.io/timestamp"
)

// The values of LabelLifecycle. A pod without one is as good as normal.
const (
	stagePreparingNormal = "PreparingNormal" // OpenKruise had the pod
	stageNormal          = "Normal"
	stagePreparingUpdate = "PreparingUpdate"
	stageUpdating        = "Updating"
	stageUpdated         = "Updated"
	stagePreparingDelete = "PreparingDelete"
)

// Hooks are the two moments at which a pod may have to wait for somebody.
type Hooks struct {
	AroundUpdate *Hook // of a restart in place; nil: none
	BeforeDelete *Hook // by situ; nil: none
}

// Hook holds a pod back for as long as it has one of these.
type Hook struct {
	Labels     map[string]string
	Finalizers []string
	NotReady   bool // traffic is kept away from the pod meanwhile, if it has the readiness gate
}

// held names the first thing of the hook that a pod has, "" if it has none.
func (h *Hook) held(pod *corev1.Pod) string { return h.first(pod, true) }

// lacks names the first thing of the hook that a pod does not have, "" if it has all.
func (h *Hook) lacks(pod *corev1.Pod) string { return h.first(pod, false) }

func (h *Hook) first(pod *corev1.Pod, has bool) string {
	if h == nil {
		return ""
	}
	for _, key := range union(h.Labels, nil) {
		if value, ok := pod.Labels[key]; (ok && value == h.Labels[key]) == has {
			return "label " + key + "=" + h.Labels[key]
		}
	}
	for _, finalizer := range h.Finalizers {
		if slices.Contains(pod.Finalizers, finalizer) == has {
			return "finalizer " + finalizer
		}
	}
	return ""
}

func (h Hooks) none() bool { return h.AroundUpdate == nil && h.BeforeDelete == nil }

// ownDrift drops what hooks write: that a label of theirs comes and goes is no drift.
func (h Hooks) ownDrift(found []Drift) []Drift {
	var own []string
	for _, hook := range []*Hook{h.AroundUpdate, h.BeforeDelete} {
		if hook == nil {
			continue
		}
		for key := range hook.Labels {
			own = append(own, fieldName([]step{{key: "metadata"}, {key: "labels"}, {key: key}}))
		}
	}
	return slices.DeleteFunc(found, func(d Drift) bool { return slices.Contains(own, d.Field) })
}

func stageOf(pod *corev1.Pod) string { return pod.Labels[LabelLifecycle] }

// awaitHook takes a pod for unavailable as long as its hooks have not let go of
// it: whoever asked for them drains it, or fills it again.
func (r *rollout) awaitHook(c *podCase) {
	hooks, text := r.settings.Hooks, ""
	switch stageOf(c.pod) {
	case stagePreparingUpdate:
		text = hooks.AroundUpdate.held(c.pod)
	case stagePreparingDelete:
		text = hooks.BeforeDelete.held(c.pod)
	case stageUpdated:
		if lacks := hooks.AroundUpdate.lacks(c.pod); lacks != "" && !c.progress.broken {
			text = lacks + " is to come back"
		}
	case stageUpdating:
	default:
		return
	}
	switch {
	case hooks.none():
	case c.progress.broken && text == "":
	case text != "": // however long it takes: it is unready since somebody drains it
		c.progress = progress{text: "waits for its hook: " + text}
	default:
		c.progress.available = false
		c.progress.text = cmp.Or(c.progress.text, "its hook has let go of it")
	}
}

// beforeUpdate brings a pod past its hook before a container restarts. Not let go
// yet: the action, if there is one, is what it takes now.
func (r *rollout) beforeUpdate(c podCase) (action *Action, letGo bool) {
	hook := r.settings.Hooks.AroundUpdate
	if hook == nil || c.verdict != Restart || c.mark.Partial {
		return nil, true
	}
	switch stageOf(c.pod) {
	case stageUpdating:
		return nil, true
	case stagePreparingUpdate:
		return r.wait(c, hook)
	}
	if c.pulling != "" { // nobody drains a pod for an image that may never come
		r.waitFor(c.pod, c.pulling)
		return nil, false
	}
	switch stageOf(c.pod) {
	case stageUpdated:
		return r.enter(c.pod, stagePreparingUpdate, hook), false // a new target: the hook is asked again
	case stagePreparingDelete:
		return nil, false // it is taken back first
	}
	if hook.held(c.pod) == "" {
		return nil, true
	}
	return r.enter(c.pod, stagePreparingUpdate, nil), false
}

// beforeDelete brings a pod past its hook before situ deletes it.
func (r *rollout) beforeDelete(c podCase) (action *Action, letGo bool) {
	hook := r.settings.Hooks.BeforeDelete
	switch {
	case hook.held(c.pod) == "":
		return nil, true
	case stageOf(c.pod) != stagePreparingDelete:
		return r.enter(c.pod, stagePreparingDelete, nil), false
	}
	return r.wait(c, hook)
}

// wait is for the hook to let go of the pod. Traffic leaves the pod at once where
// the hook wants that.
func (r *rollout) wait(c podCase, hook *Hook) (action *Action, letGo bool) {
	held := hook.held(c.pod)
	if held == "" {
		return nil, true
	}
	if status, _ := gateOf(c.pod); hook.NotReady && hasGate(c.pod) && status != corev1.ConditionFalse {
		shut := r.turnGate(c.pod, corev1.ConditionFalse)
		shut.Text = "keep traffic away from pod/" + c.pod.Name + " while its hook has it"
		return &shut, false
	}
	r.waitFor(c.pod, "waits for its hook: "+held)
	return nil, false
}

// updating is the patch that restarts containers, and says so on the pod.
func (r *rollout) updating(c podCase, patch Action) Action {
	if r.settings.Hooks.AroundUpdate == nil || c.verdict != Restart {
		return patch
	}
	body, _ := patch.Body.(map[string]any)
	body = with(body, stageUpdating, "metadata", "labels", LabelLifecycle)
	patch.Body = with(body, r.now.UTC().Format(time.RFC3339), "metadata", "annotations", AnnotationLifecycle)
	return patch
}

// enter writes where a pod stands now, with what the hook waits for, if that is
// to be put back on the pod.
func (r *rollout) enter(pod *corev1.Pod, stage string, back *Hook) *Action {
	labels := map[string]any{LabelLifecycle: stage}
	metadata := map[string]any{
		"uid": string(pod.UID), "labels": labels,
		"annotations": map[string]any{AnnotationLifecycle: r.now.UTC().Format(time.RFC3339)},
	}
	if back != nil {
		for key, value := range back.Labels {
			labels[key] = value
		}
		var finalizers []any
		for _, finalizer := range back.Finalizers {
			finalizers = append(finalizers, finalizer)
		}
		if len(finalizers) > 0 {
			metadata["finalizers"] = finalizers // merged with those that it has
		}
	}
	return &Action{
		Name: "lifecycle", Mode: StrategicPatch, Ref: podRef(pod), UID: pod.UID,
		Body: map[string]any{"metadata": metadata}, Text: fmt.Sprintf("pod/%s is %s for its hooks", pod.Name, stage),
	}
}

// stageStep moves pods on that are not on their way through an update or to their
// end: proven ones, fresh ones, and those whose target went away.
func (r *rollout) stageStep() Step {
	var step Step
	for i := range r.cases {
		c := &r.cases[i]
		if to := r.stageAfter(c); to != "" && to != stageOf(c.pod) {
			step = append(step, *r.enter(c.pod, to, nil))
		}
	}
	return step
}

// stageAfter is where a pod stands next, "" if nothing is to be said of it now.
func (r *rollout) stageAfter(c *podCase) string {
	hooks, now := r.settings.Hooks, stageOf(c.pod)
	switch {
	case hooks.none() && (now == "" || r.manifest.Hosting == nil), r.ends(c):
		return ""
	case hooks.none(), now == stagePreparingDelete:
		return stageNormal
	case r.restarts(c):
		return ""
	case (now == "" || now == stagePreparingNormal) && c.pod.Spec.NodeName != "":
		return stageNormal
	case now == stagePreparingUpdate, now == stageUpdated, now == stageUpdating && unproven(c.pod, c.mark, r.now) == "":
		if hooks.AroundUpdate.lacks(c.pod) != "" {
			return stageUpdated
		}
		return stageNormal
	}
	return ""
}

// stopsBefore: the rollout has stopped, and a pod that its hook has drained for it
// runs on as it is.
func (r *rollout) stopsBefore(c *podCase) bool {
	return r.stopped != "" && stageOf(c.pod) == stagePreparingUpdate
}

// restarts: containers of the pod restart by this commit, now or in a later turn.
func (r *rollout) restarts(c *podCase) bool { return c.turn > 0 && c.verdict == Restart }

// ends: the pod is deleted, as soon as its hook lets go of it.
func (r *rollout) ends(c *podCase) bool {
	return c.departs || c.turn == 1 && c.verdict == Recreate && !c.foreign
}

// keptAway: a hook keeps traffic away from the pod.
func (r *rollout) keptAway(c *podCase) bool {
	hooks := r.settings.Hooks
	switch stageOf(c.pod) {
	case stagePreparingUpdate:
		return hooks.AroundUpdate != nil && hooks.AroundUpdate.NotReady && c.turn == 1 && c.verdict == Restart
	case stagePreparingDelete:
		return hooks.BeforeDelete != nil && hooks.BeforeDelete.NotReady && r.ends(c)
	}
	return false
}
