package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A resize goes through the pods/resize subresource (KEP 1287, generally
// available since Kubernetes 1.35). The API server refuses one that changes the
// pod's QoS class, takes a value away or touches anything but cpu and memory.
// The kubelet answers in the pod's conditions and container statuses.

// amounts reads the resources of a container in a template: "requests/cpu" -> "100m".
func amounts(container map[string]any) map[string]string {
	found := map[string]string{}
	for _, kind := range []string{"requests", "limits"} {
		for name, value := range mapAt(container, "resources", kind) {
			found[kind+"/"+name] = fmt.Sprint(value)
		}
	}
	return found
}

// isResize matches cpu and memory of a container.
func isResize(c Change) bool {
	n := len(c.path)
	if n != 5 || c.path[0].key != "spec" || c.path[2].key != "resources" {
		return false
	}
	if c.path[1].key != "containers" && c.path[1].key != "initContainers" {
		return false
	}
	kind, name := c.path[3].key, c.path[4].key
	return (kind == "requests" || kind == "limits") && (name == "cpu" || name == "memory")
}

func removes(a asked) bool { return a.New == nil }

func plainInitResources(a asked) bool {
	name, init := a.Container()
	return init && !isNativeSidecar(a.to, name)
}

func unservedResize(a asked) bool { return !a.served.Resize }

// changesQoS asks about the live pod, whose class the API server holds on to: an
// injected sidecar without limits counts, though no template has it.
func changesQoS(a asked) bool {
	if a.pod == nil || a.pod.Status.QOSClass == "" {
		return false
	}
	return qosAfter(a.pod, a.to) != a.pod.Status.QOSClass
}

// infeasible: the node said that it can never have it, or has not that much at
// all, which the API server refuses before the node is asked.
func infeasible(a asked) bool {
	if a.pod == nil {
		return false
	}
	if resizeSent(a.pod, a.to) && resizePending(a.pod) == corev1.PodReasonInfeasible {
		return true
	}
	for name, most := range a.allocatable[a.pod.Spec.NodeName] {
		if total := requestsAfter(a.pod, a.to, name); total.Cmp(most) > 0 {
			return true
		}
	}
	return false
}

// requestsAfter adds up what the pod's running containers would request.
func requestsAfter(pod *corev1.Pod, want Template, name corev1.ResourceName) resource.Quantity {
	wanted := map[string]map[string]string{}
	for _, c := range containersOf(want) {
		wanted[c.name] = amounts(c.spec)
	}
	var total resource.Quantity
	add := func(c corev1.Container) {
		if q, err := resource.ParseQuantity(effective(c, wanted[c.Name], "requests", name)); err == nil {
			total.Add(q)
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	for _, c := range pod.Spec.Containers {
		add(c)
	}
	return total
}

func restartsOnResize(a asked) bool {
	name, _ := a.Container()
	for _, c := range containersOf(a.to) {
		if c.name != name {
			continue
		}
		policies, _ := c.spec["resizePolicy"].([]any)
		for _, item := range policies {
			policy, _ := item.(map[string]any)
			if textAt(policy, "resourceName") == a.path[4].key && textAt(policy, "restartPolicy") == string(corev1.RestartContainer) {
				return true
			}
		}
	}
	return false
}

// resizePending is the reason of the condition PodResizePending: Deferred, Infeasible or "".
func resizePending(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

// pendingSince is when the node put the resize off, zero if it did not.
func pendingSince(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// resizeSent: the pod's spec has the resources that the template wants for its containers.
func resizeSent(pod *corev1.Pod, want Template) bool {
	return len(resizeBody(pod, want)) == 0
}

// resizeDone: the kubelet has put them into force. Containers that the template
// does not have are nobody's business here.
func resizeDone(pod *corev1.Pod, want Template) (bool, string) {
	if reason := resizePending(pod); reason != "" {
		return false, "resize is " + strings.ToLower(reason) + ": " + clip(resizeMessage(pod))
	}
	if condition(pod, corev1.PodResizeInProgress) == corev1.ConditionTrue {
		return false, "resize is in progress"
	}
	for _, c := range containersOf(want) {
		status := containerStatus(pod, c.name)
		if c.plainInit || status == nil || status.Resources == nil {
			continue
		}
		for name, value := range amounts(c.spec) {
			if has := amountIn(*status.Resources, name); has == "" || !equalAmounts(has, value) {
				return false, "container " + c.name + ": " + name + " is not in force yet"
			}
		}
	}
	return true, ""
}

func resizeMessage(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodResizePending {
			return c.Message
		}
	}
	return ""
}

// resizeBody is the patch of pods/resize: the containers whose live resources
// are not the wanted ones, by list ("containers", "initContainers").
func resizeBody(pod *corev1.Pod, want Template) map[string]any {
	lists := map[string]any{}
	for _, c := range containersOf(want) {
		live := liveContainer(pod, c.name)
		if c.plainInit || live == nil {
			continue
		}
		differing := map[string]any{}
		for name, value := range amounts(c.spec) {
			kind, resourceName, _ := strings.Cut(name, "/")
			if resourceName != "cpu" && resourceName != "memory" || equalAmounts(amountIn(live.Resources, name), value) {
				continue
			}
			sub(differing, kind)[resourceName] = value
		}
		if len(differing) == 0 {
			continue
		}
		list := "containers"
		if c.init {
			list = "initContainers"
		}
		items, _ := lists[list].([]any)
		lists[list] = append(items, map[string]any{"name": c.name, "resources": differing})
	}
	return lists
}

func amountIn(r corev1.ResourceRequirements, name string) string {
	kind, resourceName, _ := strings.Cut(name, "/")
	list := r.Requests
	if kind == "limits" {
		list = r.Limits
	}
	q, ok := list[corev1.ResourceName(resourceName)]
	if !ok {
		return ""
	}
	return q.String()
}

func equalAmounts(a, b string) bool {
	x, errX := resource.ParseQuantity(a)
	y, errY := resource.ParseQuantity(b)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

// qosAfter is the QoS class that the pod would have with the template's
// resources (ComputePodQOS in pkg/apis/core/v1/helper/qos, Kubernetes 1.37).
func qosAfter(pod *corev1.Pod, want Template) corev1.PodQOSClass {
	wanted := map[string]map[string]string{}
	for _, c := range containersOf(want) {
		wanted[c.name] = amounts(c.spec)
	}
	any, guaranteed := false, true
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := effective(c, wanted[c.Name], "requests", name), effective(c, wanted[c.Name], "limits", name)
			if !isZero(request) || !isZero(limit) {
				any = true
			}
			if isZero(limit) || !isZero(request) && !equalAmounts(request, limit) {
				guaranteed = false
			}
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// effective is the amount after a resize: what is not wanted stays.
func effective(c corev1.Container, wanted map[string]string, kind string, name corev1.ResourceName) string {
	if value, ok := wanted[kind+"/"+string(name)]; ok {
		return value
	}
	return amountIn(c.Resources, kind+"/"+string(name))
}

func isZero(amount string) bool {
	q, err := resource.ParseQuantity(amount)
	return err != nil || q.IsZero()
}

func liveContainer(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// resizePod sends a pod's new resources. Its revision label moves on with the
// patch that follows, once they are in force.
func resizePod(c podCase, want Template) Action {
	body := map[string]any{"metadata": map[string]any{"uid": string(c.pod.UID)}, "spec": resizeBody(c.pod, want)}
	return Action{
		Name: "resize", Mode: StrategicPatch, Subresource: "resize", Ref: podRef(c.pod), UID: c.pod.UID, Generation: c.pod.Generation,
		Body: body, Text: "resize pod/" + c.pod.Name,
	}
}
