package nodes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Resize is what becomes of a change of cpu or memory.
type Resize string

// The outcomes. The zero value carries a resize out: one that is larger than
// the whole node never comes here, the API server refuses it.
const (
	Done       Resize = ""
	Deferred   Resize = "Deferred"
	Infeasible Resize = "Infeasible"
)

// resizing is what the kubelet decided about the pod's resize, if there is one.
type resizing struct {
	outcome Resize
	message string
}

func (r resizing) refused() bool { return r.outcome != Done }

// resize decides about the whole pod: its containers are resized together or
// not at all.
func (t *turn) resize() resizing {
	if !t.resizePending() {
		return resizing{}
	}
	if asked := Resize(t.pod.Annotations[AnnotationResize]); asked == Deferred || asked == Infeasible {
		return resizing{asked, "Node didn't have enough resource: as the pod's annotation asks"}
	}
	if ordered := t.kubelet.orders.resizes(); ordered != Done {
		return resizing{ordered, "Node didn't have enough resource: as the test asks"}
	}
	return resizing{}
}

func (t *turn) resizePending() bool {
	for _, spec := range t.pod.Spec.InitContainers {
		if status := statusOf(t.pod.Status.InitContainerStatuses, spec.Name); sidecar(spec) && status != nil && differs(spec, *status) {
			return true
		}
	}
	for _, spec := range t.pod.Spec.Containers {
		if status := statusOf(t.pod.Status.ContainerStatuses, spec.Name); status != nil && differs(spec, *status) {
			return true
		}
	}
	return false
}

// restarts tells whether a resize that is carried out restarts the container.
func (r resizing) restarts(spec corev1.Container, status corev1.ContainerStatus) bool {
	if r.refused() || !differs(spec, status) {
		return false
	}
	for _, policy := range spec.ResizePolicy {
		if policy.RestartPolicy == corev1.RestartContainer && amountDiffers(policy.ResourceName, spec, status) {
			return true
		}
	}
	return false
}

func differs(spec corev1.Container, status corev1.ContainerStatus) bool {
	return amountDiffers(corev1.ResourceCPU, spec, status) || amountDiffers(corev1.ResourceMemory, spec, status)
}

func amountDiffers(name corev1.ResourceName, spec corev1.Container, status corev1.ContainerStatus) bool {
	if status.Resources == nil {
		return false // it has not been started yet
	}
	wantedRequest, wantedLimit := spec.Resources.Requests[name], spec.Resources.Limits[name]
	return wantedRequest.Cmp(status.Resources.Requests[name]) != 0 || wantedLimit.Cmp(status.Resources.Limits[name]) != 0
}

// allocate gives the container what its spec asks for.
func allocate(spec corev1.Container, status *corev1.ContainerStatus) {
	wanted := corev1.ResourceRequirements{Requests: spec.Resources.Requests, Limits: spec.Resources.Limits}
	if status.Resources != nil && equality.Semantic.DeepEqual(*status.Resources, wanted) {
		return
	}
	status.Resources = wanted.DeepCopy()
	status.AllocatedResources = spec.Resources.Requests.DeepCopy()
}
