package planner

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A resize comes before the patch that moves a pod's revision label on, and the
// server takes no annotation with it. If another commit comes in between, the
// pod has amounts that neither its recorded template nor the wanted one has.
// They are known by the workload's own records: amounts that no template of it
// ever had are somebody else's, and stay.

// podAmount is one amount of cpu or memory that a resize can change.
type podAmount struct {
	container  string
	kind, name string // "requests", "cpu"
	path       []step
	text       string // "": the template has none
	value      resource.Quantity
}

// resizable lists the amounts of a template that a resize can change, also those
// that it could have and has not.
func resizable(t Template) []podAmount {
	var found []podAmount
	for _, c := range containersOf(t) {
		if c.plainInit {
			continue
		}
		list := "containers"
		if c.init {
			list = "initContainers"
		}
		for _, kind := range []string{"requests", "limits"} {
			for _, name := range []string{"cpu", "memory"} {
				path := []step{{key: "spec"}, {key: list, item: c.name}, {key: "resources"}, {key: kind}, {key: name}}
				amount := podAmount{container: c.name, kind: kind, name: name, path: path}
				if text := at(c.spec, "resources", kind, name); text != nil {
					value, err := resource.ParseQuantity(fmt.Sprint(text))
					if err != nil {
						continue
					}
					amount.text, amount.value = fmt.Sprint(text), value
				}
				found = append(found, amount)
			}
		}
	}
	return found
}

// leftOver are the amounts that an unfinished resize has left on a pod, beside
// the changes that are known already.
func (a *assessor) leftOver(pod *corev1.Pod, known []Change) []Change {
	var left []Change
	for i := range a.amounts {
		want := &a.amounts[i]
		live := liveContainer(pod, want.container)
		if live == nil {
			continue
		}
		has, ok := amountsOf(live.Resources, want.kind)[corev1.ResourceName(want.name)]
		if !ok || want.text != "" && has.Cmp(want.value) == 0 {
			continue
		}
		if want.text == "" && givenAtBirth(pod, want, live) || !a.wasWanted(want, has) {
			continue
		}
		change := Change{Field: fieldName(want.path), Old: has.String(), path: want.path}
		if want.text != "" {
			change.New = want.text
		}
		if !slices.ContainsFunc(known, func(c Change) bool { return c.Field == change.Field }) {
			left = append(left, change)
		}
	}
	return left
}

// givenAtBirth says whether an amount that the template lacks can be the server's
// own: a request that follows from the limit, what a LimitRange fills in (the
// admission plugin LimitRanger says so in an annotation of the pod), or anything
// on a pod whose spec was never changed (metadata.generation, Kubernetes 1.33).
func givenAtBirth(pod *corev1.Pod, want *podAmount, live *corev1.Container) bool {
	if pod.Generation <= 1 {
		return true
	}
	limit, limited := live.Resources.Limits[corev1.ResourceName(want.name)]
	request, requested := live.Resources.Requests[corev1.ResourceName(want.name)]
	if want.kind == "requests" && limited && requested && limit.Cmp(request) == 0 {
		return true
	}
	return strings.Contains(pod.Annotations[limitRangerAnnotation], strings.TrimSuffix(want.kind, "s")+" for container "+want.container)
}

const limitRangerAnnotation = "kubernetes.io/limit-ranger"

func amountsOf(r corev1.ResourceRequirements, kind string) corev1.ResourceList {
	if kind == "limits" {
		return r.Limits
	}
	return r.Requests
}

// wasWanted says whether some template of the workload has that amount.
func (a *assessor) wasWanted(want *podAmount, has resource.Quantity) bool {
	if a.earlier == nil {
		a.earlier = []podAmount{} // asked once, and only where a pod differs
		for _, object := range a.history {
			a.earlier = append(a.earlier, resizable(templateOf(object))...)
		}
	}
	return slices.ContainsFunc(a.earlier, func(e podAmount) bool {
		return e.text != "" && e.container == want.container && e.kind == want.kind && e.name == want.name && e.value.Cmp(has) == 0
	})
}

// historyOf are the objects that hold the templates of a workload, now and earlier.
func historyOf(live Live, owned []*unstructured.Unstructured) []map[string]any {
	history := []map[string]any{live.Object.Object}
	for _, o := range owned {
		if o.GetKind() == "ControllerRevision" {
			history = append(history, mapAt(o.Object, "data"))
			continue
		}
		history = append(history, o.Object)
	}
	return history
}
