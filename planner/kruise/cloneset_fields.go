package kruise

import "slices"

// cloneSetFields is the table of both versions. What a rolling update asks for is
// at another place in each of them.
func cloneSetFields() []Field {
	return slices.Concat(
		[]Field{
			{Path: "spec.replicas", Support: Works, Text: "an autoscaler of the ReplicaSet may own it"},
			{Path: "spec.selector", Support: Works, Text: "of the ReplicaSet; it cannot change"},
			{Path: "spec.template", Support: Works, Text: "of the pods"},
			{Path: "spec.minReadySeconds", Support: Works, Text: "before a pod counts as available"},
			{Path: "spec.revisionHistoryLimit", Support: Works, Text: "10 if it is not written; those that pods have are kept beside them"},
			{Path: "spec.progressDeadlineSeconds", Support: Mapped, Text: "of each pod: an updated pod that is not available after it has failed, and the update stops; 600 if it is not written"},
		},
		cloneSetLifecycleFields(),
		[]Field{
			{Path: "spec.updateStrategy.type", Since: "v1alpha1", Support: Works, Text: "ReCreate, if it is not written, InPlaceIfPossible, InPlaceOnly or OnDelete"},
			{Path: "spec.updateStrategy.type", Since: "v1beta1", Support: Works, Text: "RollingUpdate, if it is not written, or OnDelete"},
		},
		cloneSetRollingFields("spec.updateStrategy", "v1alpha1"),
		[]Field{
			{Path: "spec.updateStrategy.rollingUpdate.podUpdatePolicy", Since: "v1beta1", Support: Works, Text: "ReCreate, if it is not written, InPlaceIfPossible or InPlaceOnly"},
		},
		cloneSetRollingFields("spec.updateStrategy.rollingUpdate", "v1beta1"),
	)
}

func cloneSetRollingFields(at, version string) []Field {
	rows := []Field{
		{Path: "partition", Support: Works, Text: "how many pods stay at the old template, also when pods die and are made anew, or fewer are wanted; a share rounds up. It only holds updates back: raised, it takes none back. When Git wants fewer pods, so many old and new ones go as leave it what it keeps, but for pods that are not ready: those go first. A commit that wants the old template again goes to all pods"},
		{Path: "maxUnavailable", Support: Works, Text: "20% if it is not written; a share rounds down, and to 1 at least"},
		cloneSetSurge,
		{Path: "paused", Support: Works, Text: "no pod is updated; scaling goes on, with pods of the new template unless the partition wants old ones"},
		{Path: "priorityStrategy.weightPriority", Support: Works, Text: "the heavier, the earlier; a pod that nothing matches weighs 0"},
		{Path: "priorityStrategy.orderPriority", Support: Works, Text: "the higher the number at the end of the label, the earlier; a pod that has none of the labels comes last, as one without a weight does"},
		{Path: "scatterStrategy", Support: Works, Text: "over the whole update: the places stay the same when it goes on after a pause"},
		{Path: "inPlaceUpdateStrategy.gracePeriodSeconds", Support: Mapped, Text: "above 0, pods get the readiness gate InPlaceUpdateReady, which situ must then open on each new pod; without it, none has a gate that the template does not have. So pods are made anew once when it is first set"},
		{Path: "inPlaceUpdateStrategy.imagePreDownloadParallelism", Support: Dropped, Text: "before a container is stopped situ has its new image brought to the node, one node after the other as the budget goes"},
		{Path: "inPlaceUpdateStrategy.imagePreDownloadTimeoutSeconds", Support: Dropped, Text: "an image that does not come is a failed update once annotation situ.gitops/progress-deadline is over"},
		{Path: "inPlaceUpdateStrategy.imagePreDownloadMinUpdatedReadyPods", Support: Dropped, Text: "images are brought to a node when its pods have their turn"},
	}
	for i := range rows {
		rows[i].Path, rows[i].Since = at+"."+rows[i].Path, version
	}
	return rows
}
