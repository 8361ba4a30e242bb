package planner

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// A commit that made a CloneSet of a Deployment may be reverted. The ReplicaSet
// that hosts the CloneSet then has the pods that the Deployment wants, and the
// Deployment's controller, which looks for ReplicaSets by their labels, would make
// as many pods again beside it. So the ReplicaSet is given the labels, and the
// Deployment begins as one whose template is just being exchanged: paused, so that
// its controller adopts the ReplicaSet and makes none. The rest is that exchange.

// handback is the host of a CloneSet that has left Git.
type handback struct {
	*rollout
	host *unstructured.Unstructured
	had  Ref // the CloneSet
	pods int
}

// newHandback is nil if no such host has pods that the Deployment's selector matches.
func newHandback(r *rollout, snap Snapshot) *handback {
	host := snap.Namesakes[replicaSetRef(r.manifest.Ref)].Object
	if r.manifest.Kind != "Deployment" || host == nil {
		return nil
	}
	had, is := HostedBy(host)
	if !is || !selectorOf(r.proof.Object).Matches(labelsOf(mapAt(host.Object, "spec", "template"))) {
		return nil
	}
	return &handback{rollout: r, host: host, had: had, pods: len(active(snap.Pods[host.GetUID()]))}
}

// plan says what becomes of each pod, once the Deployment has the ReplicaSet.
func (h *handback) plan(plan *WorkloadPlan, snap Snapshot, wake *time.Time) {
	if why := h.forbidden(snap); why != "" {
		plan.refuse("hand-over", why)
		return
	}
	create := createSteps(h.rollout)
	body := held(create[0][0].Body.(map[string]any))
	object := h.proof.Object
	if h.foreignReplicas() {
		replicas := int64(numberAt(h.host.Object, 1, "spec", "replicas"))
		body, object = with(body, replicas, "spec", "replicas"), &unstructured.Unstructured{Object: with(object.Object, replicas, "spec", "replicas")}
	}
	create[0][0].Body = body
	predicted := *h.rollout
	predicted.live = Live{Object: object}
	owned := map[types.UID][]*unstructured.Unstructured{object.GetUID(): {h.host}, h.host.GetUID(): snap.Owned[h.host.GetUID()]}
	d := newDeployment(&predicted, Snapshot{Owned: owned, Pods: snap.Pods})
	predicted.assess(d, snap)
	predicted.schedule(d, newDisruptions(snap.Disruptions[h.manifest.Namespace], predicted.cases))
	predicted.report(plan, wake)
	if plan.Verdict == Refuse {
		return
	}
	predicted.tellTooMany(plan, numberAt(object.Object, 1, "spec", "replicas"))
	plan.State, plan.Text = Progressing, handing
	plan.Steps = steps(append([]Step{h.label()}, create...)...)
	told := fmt.Sprintf("%d running pods are handed over to %s; none of them restarts for that", h.pods, plan.Host)
	plan.Warnings = slices.Concat(plan.Warnings, []string{told}, tooMany(h.pods, numberAt(object.Object, 1, "spec", "replicas")), h.scalerLoses(refAt(h.host), snap))
}

// forbidden is why the Deployment is not made, "" if it is.
func (h *handback) forbidden(snap Snapshot) string {
	short := "replicaset/" + h.host.GetName()
	if slices.ContainsFunc(h.commit.Manifests, func(m Manifest) bool { return m.Named() == h.had }) {
		return short + " hosts " + h.had.String() + ", which is in the same commit and wants the same pods: remove one of them"
	}
	has := fmt.Sprintf("%s still has the %d pods of %s, which has left Git, and the Deployment would make others beside them", short, h.pods, h.had)
	switch source := foreignSource(h.commit, h.host); {
	case source != "" && !taken(h.commit, source):
		return has + ": " + foreignText(source)
	case h.host.GetDeletionTimestamp() != nil:
		return has + ": wait until it is gone"
	case !sameSelector(h.host, h.proof.Object):
		return has + ": write the selector of " + short + " here, word for word, and they are handed over; or delete it with its pods"
	}
	return ""
}

// label lets the Deployment's controller find the ReplicaSet.
func (h *handback) label() Step {
	wanted := maps.Clone(mapAt(h.host.Object, "spec", "template", "metadata", "labels"))
	delete(wanted, LabelRevision)
	return Step{{
		Name: "hand-over", Mode: StrategicPatch, Ref: refAt(h.host), UID: h.host.GetUID(),
		Body: map[string]any{"metadata": map[string]any{"uid": string(h.host.GetUID()), "labels": wanted}},
		Text: "label replicaset/" + h.host.GetName() + " for the Deployment to adopt it",
	}}
}

// free unpauses the Deployment. A ReplicaSet that was a host is one of its own from then on.
func (d *deployment) free(r *rollout) Step {
	var step Step
	for i := range d.sets {
		o := d.sets[i].object
		if had, is := HostedBy(o); is {
			action := metadataPatch(refAt(o), o.GetUID(), "annotations", AnnotationHosts, "", "replicaset/"+o.GetName()+" hosts "+had.String()+" no more")
			mapAt(action.Body.(map[string]any), "metadata", "annotations")[AnnotationHosts] = nil
			step = append(step, action)
		}
	}
	return append(step, d.release(r))
}

// held is a Deployment that makes no ReplicaSet for now.
func held(body map[string]any) map[string]any {
	return with(with(body, true, "spec", "paused"), "in-place", rolloutPath...)
}

var rolloutPath = []string{"metadata", "annotations", AnnotationRollout}

// unadopted is the ReplicaSet that the controller of a Deployment which begins
// paused is still to find. Set free, it would make another one. The labels that it
// finds it by may not be seen yet.
func (d *deployment) unadopted(snap Snapshot) string {
	o := snap.Namesakes[replicaSetRef(refAt(d.object))].Object
	if !d.hold || o == nil || metav1.GetControllerOf(o) != nil {
		return ""
	}
	selector := selectorOf(d.object)
	_, hosts := HostedBy(o)
	begins := hosts && len(d.sets) == 0 && selector.Matches(labelsOf(mapAt(o.Object, "spec", "template")))
	if !begins && !selector.Matches(labels.Set(o.GetLabels())) {
		return ""
	}
	return "for the Deployment's controller to adopt replicaset/" + o.GetName()
}
