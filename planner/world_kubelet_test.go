package planner

import (
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubelet brings one pod a step further: containers of another image are
// replaced, and what runs becomes ready a step later. An image called
// "missing" cannot be pulled, after the old container has been stopped.
func (w *world) kubelet(name string) {
	if isPull(w.pods[name]) {
		w.pull(name)
		return
	}
	pod := w.pods[name].DeepCopy()
	memory := w.images[pod.UID]
	if memory == nil {
		memory = imagesRunning{}
		w.images[pod.UID] = memory
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	}
	pod.Status.Phase = corev1.PodRunning
	gateShut := false
	for i := range pod.Spec.ReadinessGates {
		gateShut = gateShut || condition(pod, pod.Spec.ReadinessGates[i].ConditionType) != corev1.ConditionTrue
	}
	pod.Status.ObservedGeneration = pod.Generation
	moved := false
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if i >= len(pod.Status.ContainerStatuses) {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, RestartCount: -1})
		}
		moved = w.start(pod, c, &pod.Status.ContainerStatuses[i], memory) || moved
	}
	ready := corev1.ConditionTrue
	if gateShut {
		ready = corev1.ConditionFalse
	}
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; !moved && status.State.Running != nil {
			status.Ready = true
		} else {
			ready = corev1.ConditionFalse
		}
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status != ready {
			c.Status, c.LastTransitionTime = ready, metav1.NewTime(w.now)
		}
	}
	if !reflect.DeepEqual(pod.Status, w.pods[name].Status) {
		w.pods[name] = pod
	}
}

// pull has the image, or not; a container that only pulls never runs.
func (w *world) pull(name string) {
	pod := w.pods[name].DeepCopy()
	image := pod.Spec.Containers[0].Image
	status := corev1.ContainerStatus{Name: "pull", Image: image, ImageID: imageID(image)}
	status.State.Terminated = &corev1.ContainerStateTerminated{Reason: "StartError", ExitCode: 128}
	if isMissing(image) {
		status = corev1.ContainerStatus{Name: "pull", Image: image, State: pullBackOff()}
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{status}}
	w.pods[name] = pod
}

func isMissing(image string) bool {
	return strings.HasSuffix(image, ":missing")
}

func pullBackOff() corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such tag"}}
}

func imageID(image string) string {
	name, digest, pinned := strings.Cut(canonical(image), "@")
	if !pinned {
		digest = "sha256:" + revision(Template{"image": image})
	}
	return untagged(name) + "@" + digest
}

// start reports whether the container was stopped or started now.
func (w *world) start(pod *corev1.Pod, c *corev1.Container, status *corev1.ContainerStatus, memory imagesRunning) bool {
	status.Resources = c.Resources.DeepCopy() // in force at once
	if memory[c.Name] == c.Image {
		return false
	}
	memory[c.Name] = c.Image
	status.Ready = false
	if isMissing(c.Image) {
		status.State = pullBackOff()
		return true
	}
	w.serial++
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(w.now)}}
	status.ContainerID, status.Image, status.ImageID = fmt.Sprintf("containerd://%d", w.serial), c.Image, imageID(c.Image)
	status.RestartCount++
	return true
}
