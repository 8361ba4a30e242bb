package kruise

import (
	"situ.gitops/planner"
)

// cloneSetSurge is the row of maxSurge, wherever a version has it.
var cloneSetSurge = Field{Path: "maxSurge", Support: Works, Text: "a share rounds up. Only pods that must be made anew use it: their successors come first, and a share of maxUnavailable that is less than one pod is none for them. None where the replicas are not Git's, or while updates are paused"}

// cloneSetLifecycleFields are the rows about how pods come and go.
func cloneSetLifecycleFields() []Field {
	const notReady = "keeps traffic away while the hook has the pod: pods get the readiness gate InPlaceUpdateReady for it, which situ must then open on each new pod; they are made anew once when it is first set"
	return []Field{
		{Path: "spec.volumeClaimTemplates", Support: Mapped, Text: "a generic ephemeral volume of the pods: a claim lives as long as its pod, which keeps it through an update in place. Claims are called <pod>-<claim template>. A changed claim template stands in the plan: pods keep the claims that they have, and a pod that is made from now on gets the new one"},
		{Path: "spec.lifecycle.preDelete", Support: Works, Text: "before situ deletes a pod: to make it anew, as it is asked for, or since fewer are wanted. The pod counts until it is gone, and no other takes its place before. What others delete does not ask: a drained node, an eviction, an autoscaler of the ReplicaSet, the end of the whole workload; a finalizer then keeps the pod's object, not its containers"},
		{Path: "spec.lifecycle.preDelete.markPodNotReady", Support: Mapped, Text: notReady},
		{Path: "spec.lifecycle.inPlaceUpdate", Support: Works, Text: "before and after each update that restarts a container; labels, annotations and resources that restart nothing do not ask it, as they take no traffic away. Where a pod stands is on it: label lifecycle.apps.kruise.io/state and annotation lifecycle.apps.kruise.io/timestamp"},
		{Path: "spec.lifecycle.inPlaceUpdate.markPodNotReady", Support: Mapped, Text: notReady},
		{Path: "spec.lifecycle.preNormal", Support: Refused, Text: "use a readiness gate of your own, which keeps a new pod from being available until you open it"},
		{Path: "spec.scaleStrategy.podsToDelete", Support: Works, Text: "as label apps.kruise.io/specified-delete: \"true\" on a pod. With fewer replicas in the same commit exactly these go; else others take their place, within maxUnavailable, also while updates are paused. A name that no pod has is a warning, and stays in Git until somebody removes it"},
		{Path: "spec.scaleStrategy.maxUnavailable", Support: Refused, Text: "the ReplicaSet's controller makes all pods that are missing; remove it"},
		{Path: "spec.scaleStrategy.excludePreparingDelete", Support: Refused, Text: "a pod that waits for its hook before it is deleted counts until it is gone; remove it"},
		{Path: "spec.scaleStrategy.disablePVCReuse", Since: "v1alpha1", Support: Works, Text: "no claim outlives its pod, written or not"},
		{Path: "spec.scaleStrategy.enablePVCReuse", Since: "v1beta1", Support: Refused, Text: "a claim goes with its pod; remove it, and keep what must outlive a pod in a claim of its own or in a StatefulSet"},
	}
}

// badSurge also finds one that nothing would ever use.
func badSurge(v cloneSetView) []Mistake {
	at := under(v.at, "maxSurge")
	surge := amount(v.rolling.MaxSurge)
	if surge == nil || surge.Value == 0 || v.update != string(planner.InPlaceOnly) {
		return badAmount(v.rolling.MaxSurge, at...)
	}
	return []Mistake{{Path: at, Text: "is for pods that are made anew, which InPlaceOnly rules out; remove it, or update InPlaceIfPossible"}}
}

// badLifecycle finds hooks that no pod could ever wait for.
func badLifecycle(l *Lifecycle) []Mistake {
	if l == nil {
		return nil
	}
	var mistakes []Mistake
	for _, hook := range []struct {
		name string
		is   *LifecycleHook
	}{{"preDelete", l.PreDelete}, {"inPlaceUpdate", l.InPlaceUpdate}} {
		if hook.is != nil && len(hook.is.LabelsHandler)+len(hook.is.FinalizersHandler) == 0 {
			mistakes = append(mistakes, Mistake{Path: []string{"spec", "lifecycle", hook.name},
				Text: "names nothing that a pod could wait for: give it a labelsHandler or a finalizersHandler, or remove it"})
		}
	}
	return mistakes
}

// hooks are those of a lifecycle, and whether one of them keeps traffic away.
func hooks(l *Lifecycle) (asked planner.Hooks, notReady bool) {
	if l == nil {
		return planner.Hooks{}, false
	}
	asked = planner.Hooks{AroundUpdate: hook(l.InPlaceUpdate), BeforeDelete: hook(l.PreDelete)}
	for _, h := range []*planner.Hook{asked.AroundUpdate, asked.BeforeDelete} {
		notReady = notReady || h != nil && h.NotReady
	}
	return asked, notReady
}

func hook(h *LifecycleHook) *planner.Hook {
	if h == nil {
		return nil
	}
	return &planner.Hook{Labels: h.LabelsHandler, Finalizers: h.FinalizersHandler, NotReady: h.MarkPodNotReady}
}
