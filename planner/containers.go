package planner

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// containerSpec is a container of a template.
type containerSpec struct {
	name      string
	init      bool // listed under initContainers
	plainInit bool // and runs once, before the others
	spec      map[string]any
}

func containersOf(t Template) []containerSpec {
	var all []containerSpec
	for _, list := range []string{"initContainers", "containers"} {
		items, _ := at(t, "spec", list).([]any)
		for _, item := range items {
			spec, _ := item.(map[string]any)
			init := list == "initContainers"
			all = append(all, containerSpec{
				name:      textAt(spec, "name"),
				init:      init,
				plainInit: init && textAt(spec, "restartPolicy") != string(corev1.ContainerRestartPolicyAlways),
				spec:      spec,
			})
		}
	}
	return all
}

func isNativeSidecar(t Template, name string) bool {
	for _, c := range containersOf(t) {
		if c.name == name {
			return c.init && !c.plainInit
		}
	}
	return false
}

func imageIn(t Template, name string) string {
	for _, c := range containersOf(t) {
		if c.name == name {
			return textAt(c.spec, "image")
		}
	}
	return ""
}

// liveImage is the image that the pod's spec has for a container now.
func liveImage(pod *corev1.Pod, name string) string {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return list[i].Image
			}
		}
	}
	return ""
}

// containerStatus is the kubelet's word on a container, nil before there is any.
func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// aliasOf is another name for the very image that a container runs. The kubelet
// restarts a container when its image text changes, so that the alias restarts
// it with a fresh environment and the same content:
//
//	app:v1 -> app:v1@sha256:D -> app@sha256:D -> app:v1@sha256:D ...
//
// It never goes back from a digest to a bare tag, which may have moved since.
// No digest known: no alias.
func aliasOf(pod *corev1.Pod, name string) (string, bool) {
	status := containerStatus(pod, name)
	image := liveImage(pod, name)
	if status == nil || image == "" {
		return "", false
	}
	tagged, digest, pinned := strings.Cut(image, "@")
	if !pinned {
		_, running, ok := strings.Cut(status.ImageID, "@")
		if !ok || !strings.HasPrefix(running, "sha256:") || !runsImage(status, image) {
			return "", false
		}
		return image + "@" + running, true
	}
	repository := untagged(tagged)
	if repository != tagged {
		return repository + "@" + digest, true
	}
	return repository + ":situ@" + digest, true // with a digest, a tag is only a comment
}

// aliases are the other names of images that a pod's containers have once it is
// patched, with the names that Git has for them. An alias would otherwise look
// like drift or, where a pod's template is known from the pod alone, like a change.
func aliases(c podCase) map[string]string {
	found := map[string]string{}
	for _, list := range [][]corev1.Container{c.pod.Spec.InitContainers, c.pod.Spec.Containers} {
		for i := range list {
			if of, ok := c.mark.Alias[list[i].Image]; ok {
				found[list[i].Image] = of
			}
		}
	}
	for _, name := range c.patched {
		if slices.ContainsFunc(c.changes, func(change Change) bool { return imageOf(change, name) }) {
			continue
		}
		if alias, ok := aliasOf(c.pod, name); ok {
			found[alias] = namedImage(c.mark, liveImage(c.pod, name))
		}
	}
	return found
}

// imageOf reports whether the change is one of the container's image.
func imageOf(c Change, container string) bool {
	name, _ := c.Container()
	return name == container && len(c.path) == 3 && c.path[2].key == "image"
}

// namedImage is the name that Git has for the image of a live container.
func namedImage(mark Mark, image string) string {
	if of, ok := mark.Alias[image]; ok {
		return of
	}
	return image
}

// runsImage guards against a container that still runs its image of before: its
// digest would be the wrong one.
func runsImage(status *corev1.ContainerStatus, image string) bool {
	return status.State.Running != nil && sameName(status.Image, image)
}

// untagged is an image name without its tag: "host:5000/app:v1" is "host:5000/app".
func untagged(image string) string {
	slash := strings.LastIndex(image, "/")
	if colon := strings.LastIndex(image, ":"); colon > slash {
		return image[:colon]
	}
	return image
}

// sameName compares image names as a runtime may spell them: "app" is
// "docker.io/library/app:latest".
func sameName(a, b string) bool { return canonical(a) == canonical(b) }

// ImageName spells an image in full, so that names can be compared.
func ImageName(image string) string { return canonical(image) }

func canonical(image string) string {
	name, digest, pinned := strings.Cut(image, "@")
	if first, rest, found := strings.Cut(name, "/"); !found {
		name = "docker.io/library/" + name
	} else if !strings.ContainsAny(first, ".:") && first != "localhost" {
		name = "docker.io/" + first + "/" + rest
	}
	if pinned {
		return untagged(name) + "@" + digest
	}
	if untagged(name) == name {
		name += ":latest"
	}
	return name
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return pod.Status.Conditions[i].Status
		}
	}
	return corev1.ConditionUnknown
}

func jsonText(v any) string {
	content, _ := json.Marshal(v) // what came from JSON is JSON
	return string(content)
}
