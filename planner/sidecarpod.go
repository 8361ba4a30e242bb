package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// nextPod is the rule of what only a new pod gets.
const nextPod = "next-pod"

// atRecreate is why a container keeps what it has though the set has changed.
const atRecreate = "kept as made: the rest of the change comes with a new pod"

// assess compares what a pod remembers of the set with what the set wants. The
// images are those that the set gave: what somebody else has written since is drift.
func (s *sidecarSet) assess(pod *corev1.Pod) podCase {
	had, known := s.recordOf(pod)
	c := podCase{pod: pod}
	if had.Update != nil {
		c.mark = *had.Update
	}
	for _, container := range containersOf(s.Template) {
		s.assessContainer(&c, container, had, known)
	}
	waits := known && !maps.Equal(had.Parts, s.Record.Parts)
	if waits {
		c.reasons = append(c.reasons, s.differing(had)...)
	}
	c.patched = slices.Compact(slices.Sorted(slices.Values(c.patched)))
	c.containers = c.patched
	switch {
	case c.verdict == Keep && waits:
		c.kept = atRecreate
	case c.verdict == Keep:
		c.current = true
	}
	return c
}

func (s *sidecarSet) assessContainer(c *podCase, container containerSpec, had SidecarRecord, known bool) {
	list := "containers"
	if container.init {
		list = "initContainers"
	}
	part := list + "/" + container.name
	live, image := liveImage(c.pod, container.name), textAt(container.spec, "image")
	if live == "" || known && had.Parts[part] != s.Record.Parts[part] {
		return // it comes, or changes, with the next pod
	}
	change := Change{path: []step{{key: "spec"}, {key: list, item: container.name}, {key: "image"}}, Old: had.Images[container.name], New: image}
	change.Field = fieldName(change.path)
	if !known {
		change.Old = live
	}
	switch {
	case change.Old == change.New && live != image && !sameContent(live, image):
		c.drift = append(c.drift, Drift{Field: change.Field, Template: image, Live: live, Text: "image of container " + container.name})
	case change.Old == change.New:
	case live == image: // somebody was faster; it is only to be remembered
		c.verdict = max(c.verdict, Metadata)
	default:
		rule := judge(asked{Change: change, from: s.Template, to: s.Template, pod: c.pod})
		c.verdict = max(c.verdict, rule.Verdict)
		c.changes, c.reasons = append(c.changes, change), append(c.reasons, reason(rule, change))
		if rule.Verdict == Restart {
			c.patched = append(c.patched, container.name)
		}
	}
}

// differing names what of a pod waits for the next one.
func (s *sidecarSet) differing(had SidecarRecord) []Reason {
	var reasons []Reason
	for _, part := range union(had.Parts, s.Record.Parts) {
		if had.Parts[part] != s.Record.Parts[part] {
			list, name, _ := strings.Cut(part, "/")
			reasons = append(reasons, Reason{Rule: nextPod, Field: "spec." + list + "[" + name + "]", Text: "changed beyond its image; running pods keep what they have until they are made anew"})
		}
	}
	return reasons
}

// progress is how far a pod is, as far as the set is to blame: a pod that was not
// ready before the set touched it is its workload's matter.
func (s *sidecarSet) progress(c *podCase, now time.Time, deadline time.Duration) progress {
	_, ready := readySince(c.pod)
	text := ""
	for _, container := range containersOf(s.Template) {
		status := containerStatus(c.pod, container.name)
		if status == nil || container.plainInit {
			continue
		}
		if w := status.State.Waiting; w != nil && slices.Contains(brokenReasons, w.Reason) && !stoppedByUpdate(status, c.mark) && !ofImageBefore(c.pod, status, []Mark{c.mark}) {
			return progress{broken: true, text: clip(fmt.Sprintf("container %s: %s: %s", container.name, w.Reason, w.Message))}
		}
		if _, restarted := c.mark.Restart[container.name]; restarted && !status.Ready {
			text = "container " + container.name + " is not ready"
		}
	}
	if name := unproven(c.pod, c.mark, now); name != "" {
		text = "container " + name + " has not restarted yet"
	}
	wasReady := len(c.mark.Restart) > 0 && !c.mark.Unready
	if text == "" && wasReady && !ready {
		text = "not ready since its sidecar restarted"
	}
	switch limit := c.mark.At.Add(deadline); {
	case text == "" && c.current:
		return progress{available: true}
	case text == "":
		return progress{available: ready, text: notReadyText(ready)}
	case now.Before(limit):
		return progress{text: text, wake: limit}
	default:
		return progress{broken: true, text: fmt.Sprintf("%s, for longer than %s", text, deadline)}
	}
}

func notReadyText(ready bool) string {
	if ready {
		return ""
	}
	return "not ready"
}

// patch is the one PATCH that brings the set's images to a pod: nothing of it is
// another updater's, so that two of them never undo each other.
func (s *sidecarSet) patch(r *rollout, c podCase) Action {
	record, _ := s.recordOf(c.pod)
	mark := markFor(c, r.commit.ID, s.Record.Revision)
	mark.At, mark.From = r.now.UTC().Truncate(time.Second), record.Revision
	_, ready := readySince(c.pod)
	mark.Unready = !ready
	next := SidecarRecord{Version: 1, Revision: record.Revision, Images: map[string]string{}, Parts: record.Parts, Update: &mark}
	maps.Copy(next.Images, record.Images)
	for _, container := range containersOf(s.Template) {
		part := "containers/" + container.name
		if container.init {
			part = "initContainers/" + container.name
		}
		if liveImage(c.pod, container.name) != "" && record.Parts[part] == s.Record.Parts[part] || record.Version == 0 {
			next.Images[container.name] = textAt(container.spec, "image")
		}
	}
	if record.Version == 0 {
		next.Parts = s.Record.Parts
	}
	if maps.Equal(next.Parts, s.Record.Parts) {
		next.Revision = s.Record.Revision
	}
	action := patchPod(c, s.Template, nil, Mark{})
	annotations := map[string]any{AnnotationSidecarSet + s.Set: next.String()}
	for key, value := range s.Metadata {
		annotations[key] = value
	}
	return Action{
		Name: action.Name, Mode: action.Mode, Ref: action.Ref, UID: action.UID, Generation: action.Generation, Text: action.Text,
		Body: with(without(action.Body.(map[string]any)), annotations, "metadata", "annotations"),
	}
}
