package planner

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

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

// hostLeft is why a Deployment is not made yet: a CloneSet of its name has left
// Git, and the ReplicaSet that hosts it has pods that the Deployment's selector
// matches. It would be given as many again, or, if the ReplicaSet's labels match
// as well, replace them all. "" if nothing is in the way.
func (r *rollout) hostLeft(snap Snapshot) string {
	if r.manifest.Kind != "Deployment" {
		return ""
	}
	host := snap.Namesakes[replicaSetRef(r.manifest.Ref)].Object
	if host == nil {
		return ""
	}
	hosted, is := HostedBy(host)
	if !is || !selectorOf(r.proof.Object).Matches(labelsOf(mapAt(host.Object, "spec", "template"))) {
		return ""
	}
	short := "replicaset/" + host.GetName()
	if slices.ContainsFunc(r.commit.Manifests, func(m Manifest) bool { return m.Named() == hosted }) {
		return short + " hosts " + hosted.String() + ", which is in the same commit and wants the same pods: remove one of them"
	}
	var matched []string
	for key, value := range mapAt(r.proof.Object.Object, "spec", "selector", "matchLabels") {
		matched = append(matched, fmt.Sprint(key, "=", value))
	}
	slices.Sort(matched)
	return fmt.Sprintf("%s still has the %d pods of %s, which has left Git, and the Deployment would make others beside them: "+
		"delete it with its pods; or, for the Deployment to adopt it, run kubectl -n %s label rs %s %s, then kubectl -n %s annotate rs %s %s-: "+
		"pods stay as they are if the template is the same, else the Deployment's own rolling update replaces them",
		short, len(active(snap.Pods[host.GetUID()])), hosted,
		host.GetNamespace(), host.GetName(), strings.Join(matched, " "), host.GetNamespace(), host.GetName(), AnnotationHosts)
}
