package planner

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// next is the action that brings a pod one step further on its way through an
// update, or nothing while it waits. Each step is derived from the pod itself.
//
//	a restart, and a hook         wait until the hook lets go of the pod
//	a restart with a new image    wait until the image is on the node
//	a restart, and a gate         close the gate; wait until the pod is unready,
//	                              then for the grace period
//	resources differ              resize, and wait until they are in force; one that
//	                              restarts nothing need not wait for the two above
//	containers with priorities    patch those with the highest one; wait until
//	                              they are proven and ready
//	the last of them, or all      patch, with metadata and the revision label
func (r *rollout) next(c podCase, patch func(podCase) Action) (Action, bool) {
	if action, letGo := r.beforeUpdate(c); action != nil {
		return *action, true
	} else if !letGo {
		return Action{}, false
	}
	if c.resizes && !resizeSent(c.pod, r.want) {
		if c.resizeRestarts {
			if action, clear := r.beforeRestart(c); !clear {
				return action, action.Name != ""
			}
		}
		return resizePod(c, r.want), true
	}
	if c.resizes || r.resizedItself(c.pod) && resizePending(c.pod) != corev1.PodReasonInfeasible {
		if done, text := resizeDone(c.pod, r.want); !done {
			r.waitFor(c.pod, text)
			r.stopAfterDeadline(c.pod, text)
			return Action{}, false
		}
	}
	mark, first := c.mark, firstBatch(c, r.want)
	if c.pulling == "" && mark.Partial && !r.batchDone(c.pod, mark, first) {
		return Action{}, false
	}
	if len(c.patched) > 0 {
		if action, clear := r.beforeRestart(c); !clear {
			return action, action.Name != ""
		}
	}
	if len(first) < len(c.patched) {
		return r.updating(c, r.patchBatch(c, first)), true
	}
	return r.updating(c, patch(c)), true
}

// beforeRestart clears the way for one: the image is there and, where the pod has
// the gate, traffic has left. Until then it gives what to do, if anything.
func (r *rollout) beforeRestart(c podCase) (todo Action, clear bool) {
	if c.pulling != "" {
		r.waitFor(c.pod, c.pulling)
		return Action{}, false
	}
	if !hasGate(c.pod) || c.mark.Partial {
		return Action{}, true
	}
	if status, _ := gateOf(c.pod); status != corev1.ConditionFalse {
		return r.turnGate(c.pod, corev1.ConditionFalse), false
	}
	ok, wake := r.closed(c.pod)
	if !ok {
		r.wakeAt(wake)
		r.waitFor(c.pod, "traffic leaves before it restarts")
	}
	return Action{}, ok
}

func (r *rollout) waitFor(pod *corev1.Pod, text string) { r.waits = "pod " + pod.Name + ": " + text }

// stopAfterDeadline gives up on a resize that the node puts off for too long.
func (r *rollout) stopAfterDeadline(pod *corev1.Pod, text string) {
	since := pendingSince(pod)
	if since.IsZero() {
		return
	}
	limit := since.Add(r.settings.Deadline)
	if r.now.Before(limit) {
		r.wakeAt(limit)
		return
	}
	r.stopped = fmt.Sprintf("pod %s: %s, for longer than %s", pod.Name, text, r.settings.Deadline)
}

func (r *rollout) wakeAt(t time.Time) {
	if !t.IsZero() && (r.wake.IsZero() || t.Before(r.wake)) {
		r.wake = t
	}
}

// batchDone: every container of the batches so far is proven and ready, but for
// those that restart again next. A broken one must not keep its own fix waiting.
func (r *rollout) batchDone(pod *corev1.Pod, mark Mark, next []string) bool {
	for _, name := range union(mark.Restart, nil) {
		if slices.Contains(next, name) {
			continue
		}
		if !proven(pod, mark, name, r.now) {
			r.waitFor(pod, "container "+name+" has not restarted yet")
			return false
		}
		if status := containerStatus(pod, name); status == nil || !status.Ready {
			r.waitFor(pod, "container "+name+" is not ready, and others come after it")
			return false
		}
	}
	return true
}

// Launch priorities, as OpenKruise names them: an env of a container, or an
// annotation of the template that takes the containers' own order.
const (
	priorityEnv        = "KRUISE_CONTAINER_PRIORITY"
	priorityAnnotation = "apps.kruise.io/container-launch-priority"
)

// priorities gives each container's launch priority; higher ones go first. Native
// sidecars start before all others, so they go first here too.
func priorities(t Template) map[string]int {
	found := map[string]int{}
	ordered := textAt(t, "metadata", "annotations", priorityAnnotation) == "Ordered"
	for i, c := range containersOf(t) {
		switch {
		case ordered:
			found[c.name] = -i
		default:
			found[c.name] = priorityOf(c.spec)
		}
	}
	return found
}

func priorityOf(container map[string]any) int {
	env, _ := container["env"].([]any)
	for _, item := range env {
		entry, _ := item.(map[string]any)
		if textAt(entry, "name") == priorityEnv {
			n, _ := strconv.Atoi(textAt(entry, "value"))
			return n
		}
	}
	return 0
}

// firstBatch are the containers to restart next: those with the highest
// priority, and those that read a label or annotation which one of them reads.
func firstBatch(c podCase, want Template) []string {
	order := priorities(want)
	highest := math.MinInt
	for _, name := range c.patched {
		highest = max(highest, order[name])
	}
	batch := map[string]bool{}
	for _, name := range c.patched {
		batch[name] = order[name] == highest
	}
	for grown := true; grown; {
		grown = false
		for _, change := range c.changes {
			together := readers(asked{Change: change, to: want})
			if !slices.ContainsFunc(together, func(name string) bool { return batch[name] }) {
				continue
			}
			for _, name := range together {
				if !batch[name] && slices.Contains(c.patched, name) {
					batch[name], grown = true, true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(c.patched), func(name string) bool { return !batch[name] })
}

// patchBatch patches some containers, with the metadata that they read, and
// leaves the revision label for the last batch.
func (r *rollout) patchBatch(c podCase, batch []string) Action {
	part := c
	part.patched = batch
	part.changes = slices.DeleteFunc(slices.Clone(c.changes), func(change Change) bool {
		if name, _ := change.Container(); name != "" {
			return !slices.Contains(batch, name)
		}
		return !slices.ContainsFunc(readers(asked{Change: change, to: r.want}), func(name string) bool { return slices.Contains(batch, name) })
	})
	mark := r.mark(part, revision(r.want))
	mark.Partial = true
	if r.manifest.Kind == "Pod" {
		mark.Owns = slices.Compact(slices.Sorted(slices.Values(append(owns(r.want), c.mark.Owns...))))
	}
	earlier := c.mark
	if earlier.Partial {
		mark.Touched = earlier.Touched
	}
	for _, change := range part.changes {
		mark.Touched = append(mark.Touched, touchedBy(change))
	}
	mark.Touched = slices.Compact(slices.Sorted(slices.Values(mark.Touched)))
	action := patchPod(part, r.want, nil, mark)
	action.Name, action.Text = "batch", action.Text+"; others follow"
	return action
}

// touchedBy names the field of a change: "containers/web" or "annotations/config".
func touchedBy(c Change) string {
	if name, init := c.Container(); init {
		return "initContainers/" + name
	} else if name != "" {
		return "containers/" + name
	}
	if len(c.path) != 3 {
		return c.Field
	}
	return c.path[1].key + "/" + c.path[2].key
}

// remainder are the fields that an unfinished update has touched and that do not
// have the wanted value, though the pod's recorded template and the wanted one
// may agree on them.
func remainder(pod *corev1.Pod, mark Mark, want Template, known []Change) []Change {
	if !mark.Partial {
		return nil
	}
	var rest []Change
	for _, touched := range mark.Touched {
		kind, name, _ := strings.Cut(touched, "/")
		change := Change{path: []step{{key: "metadata"}, {key: kind}, {key: name}}}
		switch kind {
		case "labels":
			change.Old, change.New = valueIn(pod.Labels, name), at(want, "metadata", kind, name)
		case "annotations":
			change.Old, change.New = valueIn(pod.Annotations, name), at(want, "metadata", kind, name)
		default:
			change.path = []step{{key: "spec"}, {key: kind, item: name}, {key: "image"}}
			change.Old, change.New = any(namedImage(mark, liveImage(pod, name))), any(imageIn(want, name))
		}
		change.Field = fieldName(change.path)
		listed := slices.ContainsFunc(known, func(c Change) bool { return c.Field == change.Field })
		if !listed && change.Old != change.New && change.New != any("") {
			rest = append(rest, change)
		}
	}
	return rest
}

func valueIn(m map[string]string, key string) any {
	if value, ok := m[key]; ok {
		return value
	}
	return nil
}

// reached: an unfinished update has brought the live pod to this value already.
func reached(pod *corev1.Pod, mark Mark, c Change) bool {
	if !mark.Partial || !slices.Contains(mark.Touched, touchedBy(c)) {
		return false
	}
	if name, _ := c.Container(); name != "" {
		return any(namedImage(mark, liveImage(pod, name))) == c.New
	}
	if c.path[1].key == "labels" {
		return valueIn(pod.Labels, c.path[2].key) == c.New
	}
	return valueIn(pod.Annotations, c.path[2].key) == c.New
}
