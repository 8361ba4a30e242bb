package planner

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// LabelDelete asks for one pod to be deleted, as OpenKruise names it: if fewer pods
// are wanted at the same time it is one that goes, else another one takes its place.
const LabelDelete = "apps.kruise.io/specified-delete"

// askedFor: somebody asks for this very pod to go, in Git or on the pod.
func (r *rollout) askedFor(pod *corev1.Pod) bool {
	if r.manifest.Hosting == nil || r.manifest.Kind != "ReplicaSet" {
		return false
	}
	return pod.Labels[LabelDelete] == "true" || slices.Contains(r.settings.Delete, pod.Name)
}

// specify takes a pod that is asked for to be one that must be made anew, whatever
// its template, and wherever pods stay as they are.
func (r *rollout) specify(c *podCase) {
	if !r.askedFor(c.pod) {
		return
	}
	*c = podCase{pod: c.pod, mark: c.mark, progress: c.progress, asked: true, fresh: c.current, verdict: Recreate, reasons: []Reason{{
		Rule: "specified-delete", Text: "somebody asks for this very pod to be deleted",
	}}}
}

// misnamed warns about names that no pod of the workload has: it may be gone
// already, or somebody has misspelt it.
func (r *rollout) misnamed() []string {
	var warnings []string
	for _, name := range r.settings.Delete {
		if !slices.ContainsFunc(r.cases, func(c podCase) bool { return c.pod.Name == name }) {
			warnings = append(warnings, fmt.Sprintf("pod %s is to be deleted, but no pod of this workload is called so; if it is gone already, remove its name", name))
		}
	}
	return warnings
}
