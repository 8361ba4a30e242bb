package planner

import "k8s.io/apimachinery/pkg/labels"

// A controller adopts every pod without a controller that its selector matches, and
// deletes it when there is one too many. A rival is somebody else who wants the
// same pods: as long as there is one, the host is not made.

// rival says who it is and the way out, "" if there is none.
func (h *handover) rival(snap Snapshot) string {
	selector := selectorOf(h.proof.Object)
	hosted := h.manifest.Kind + "/" + h.manifest.Name
	if d := snap.Namesakes[deploymentRef(h.manifest.Ref)].Object; d != nil && h.deployment.Object == nil && selector.Matches(labelsOf(mapAt(d.Object, "spec", "template"))) {
		return "deployment/" + d.GetName() + " makes pods that the selector matches, by a selector that is not quite the same: " +
			"write the Deployment's spec.selector here, word for word, and its pods are handed over; or a selector that does not match them"
	}
	for _, m := range h.commit.Manifests {
		if m.Kind == "Pod" && m.Group() == "" && m.Namespace == h.manifest.Namespace && selector.Matches(labelsOf(m.Object)) && h.mayAdopt(m.Name) {
			return "pod/" + m.Name + " in " + m.Origin.String() + " has labels that the selector matches, and the " + hosted + " would adopt it: give it other labels, or remove it from Git"
		}
	}
	for _, pod := range h.free {
		if source := pod.Annotations[AnnotationSource]; h.commit.Source != "" && source != "" && source != h.commit.Source && !taken(h.commit, source) {
			return "pod/" + pod.Name + " of the source " + source + " has labels that the selector matches, and the " + hosted +
				" would adopt it: give it other labels there; or, if it moved here for good, give --take-over " + source
		}
	}
	return ""
}

func labelsOf(object map[string]any) labels.Set {
	set := labels.Set{}
	for key, value := range mapAt(object, "metadata", "labels") {
		set[key], _ = value.(string)
	}
	return set
}
