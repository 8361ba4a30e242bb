package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// patchPod is the one PATCH that brings a pod to a template: images, metadata,
// revision labels and the mark of what must be proven, all or nothing.
func patchPod(c podCase, want Template, labels map[string]any, mark Mark) Action {
	body := map[string]any{}
	annotations := map[string]any{}
	labelPatch := map[string]any{}
	for k, v := range labels {
		labelPatch[k] = v
	}
	images := map[string]string{}
	for _, change := range c.changes {
		patchChange(c, change, body, labelPatch, annotations, images)
	}
	for _, name := range c.patched {
		if _, imageChanged := images[name]; !imageChanged {
			images[name], _ = aliasOf(c.pod, name)
		}
	}
	annotations[AnnotationState] = jsonText(mark)
	metadata := sub(body, "metadata")
	metadata["uid"], metadata["labels"], metadata["annotations"] = string(c.pod.UID), labelPatch, annotations
	patchImages(body, want, images)
	return Action{
		Name: "patch", Mode: StrategicPatch, Ref: podRef(c.pod), UID: c.pod.UID, Generation: c.pod.Generation,
		Body: body, Text: patchText(c),
	}
}

// patchChange translates one change into the patch. Reordered lists need none.
func patchChange(c podCase, change Change, body, labels, annotations map[string]any, images map[string]string) {
	if change.Reordered {
		return
	}
	last := change.path[len(change.path)-1].key
	switch {
	case change.path[0].key == "metadata" && len(change.path) == 3 && change.path[1].key == "labels":
		labels[last] = change.New // nil removes it
	case change.path[0].key == "metadata" && len(change.path) == 3 && change.path[1].key == "annotations":
		annotations[last] = change.New
	case change.Field == "metadata.finalizers":
		patchFinalizers(change, sub(body, "metadata"))
	case last == "image":
		name, _ := change.Container()
		images[name], _ = change.New.(string)
	case change.Field == "spec.activeDeadlineSeconds":
		specOf(body)["activeDeadlineSeconds"] = change.New
	case change.Field == "spec.tolerations":
		specOf(body)["tolerations"] = mergedTolerations(c.pod, change)
	}
}

// patchFinalizers adds and removes what changed; others may have added theirs.
func patchFinalizers(change Change, metadata map[string]any) {
	from, _ := change.Old.([]any)
	to, _ := change.New.([]any)
	in := func(list []any) func(any) bool {
		return func(item any) bool { return slices.Contains(list, item) }
	}
	if added := slices.DeleteFunc(slices.Clone(to), in(from)); len(added) > 0 {
		metadata["finalizers"] = added
	}
	if removed := slices.DeleteFunc(slices.Clone(from), in(to)); len(removed) > 0 {
		metadata["$deleteFromPrimitiveList/finalizers"] = removed
	}
}

func specOf(body map[string]any) map[string]any {
	if body["spec"] == nil {
		body["spec"] = map[string]any{}
	}
	return body["spec"].(map[string]any)
}

// mergedTolerations keeps what the live pod has (admission adds some) and
// appends what is new.
func mergedTolerations(pod *corev1.Pod, change Change) []any {
	live, _ := at(podJSON(pod), "spec", "tolerations").([]any)
	merged, _ := clone(live).([]any)
	had, _ := change.Old.([]any)
	wanted, _ := change.New.([]any)
	return append(merged, missing(wanted, had)...)
}

func patchImages(body map[string]any, want Template, images map[string]string) {
	for _, container := range containersOf(want) {
		image, touched := images[container.name]
		if !touched {
			continue
		}
		list := "containers"
		if container.init {
			list = "initContainers"
		}
		items, _ := specOf(body)[list].([]any)
		specOf(body)[list] = append(items, map[string]any{"name": container.name, "image": image})
	}
}

// markFor records the containers that must go away. What an earlier update has
// not proven yet stays to be proven.
func markFor(c podCase, commit, revision string) Mark {
	mark := Mark{Version: 1, Commit: commit, Revision: revision, Restart: map[string]string{}, Was: map[string]string{}}
	earlier := c.mark
	if mark.From = labelOf(c.pod); earlier.From != "" && unproven(c.pod, earlier, time.Time{}) != "" {
		mark.From = earlier.From // nobody knows whether the one between would have worked
	}
	for name, id := range earlier.Restart {
		if !proven(c.pod, earlier, name, time.Time{}) {
			mark.Restart[name], mark.Was[name] = id, earlier.Was[name]
			mark.pass(name, earlier, c)
		}
	}
	for _, name := range c.patched {
		if _, pending := mark.Restart[name]; pending {
			continue
		}
		mark.Restart[name], mark.Was[name] = "", liveImage(c.pod, name)
		if status := containerStatus(c.pod, name); status != nil {
			mark.Restart[name] = status.ContainerID
		}
	}
	return mark
}

func patchText(c podCase) string {
	if len(c.containers) == 0 {
		return fmt.Sprintf("patch pod/%s; nothing restarts", c.pod.Name)
	}
	return fmt.Sprintf("patch pod/%s; restarts %s in place", c.pod.Name, strings.Join(c.containers, ", "))
}

func podRef(pod *corev1.Pod) Ref {
	return Ref{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
}

func deletePod(c podCase) Action {
	return Action{
		Name: "delete", Mode: Delete, Ref: podRef(c.pod), UID: c.pod.UID,
		Text: fmt.Sprintf("delete pod/%s; its controller makes it anew", c.pod.Name),
	}
}

// podJSON is a pod in the shape of a template. It costs a conversion, so the
// hot path does without.
func podJSON(pod *corev1.Pod) map[string]any {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		panic("a pod is JSON: " + err.Error())
	}
	return object
}

// revisionData is the body of a ControllerRevision that remembers a template.
func revisionData(t Template) map[string]any {
	return map[string]any{"spec": map[string]any{"template": clone(map[string]any(t))}}
}
