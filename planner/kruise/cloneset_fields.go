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
			{Path: "spec.revisionHistoryLimit", Support: Refused, Text: "not yet; remove it, situ keeps the records of 10 templates"},
			{Path: "spec.progressDeadlineSeconds", Support: Refused, Text: "not yet; use annotation situ.gitops/deadline"},
		},
		cloneSetLifecycleFields(),
		[]Field{
			{Path: "spec.updateStrategy.type", Since: "v1alpha1", Support: Works, Text: "ReCreate if it is not written"},
			{Path: "spec.updateStrategy.type", Since: "v1beta1", Support: Works, Text: "RollingUpdate if it is not written"},
		},
		cloneSetRollingFields("spec.updateStrategy", "v1alpha1"),
		[]Field{
			{Path: "spec.updateStrategy.rollingUpdate.podUpdatePolicy", Since: "v1beta1", Support: Works, Text: "ReCreate if it is not written"},
		},
		cloneSetRollingFields("spec.updateStrategy.rollingUpdate", "v1beta1"),
	)
}

func cloneSetRollingFields(at, version string) []Field {
	rows := []Field{
		{Path: "partition", Support: Works, Text: "a share rounds up"},
		{Path: "maxUnavailable", Support: Works, Text: "20% if it is not written; a share rounds down, and to 1 at least"},
		cloneSetSurge,
		{Path: "paused", Support: Refused, Text: "not yet; use annotation situ.gitops/partition: 100%"},
		{Path: "priorityStrategy", Support: Refused, Text: "not yet; remove it"},
		{Path: "scatterStrategy", Support: Refused, Text: "not yet; remove it"},
		{Path: "inPlaceUpdateStrategy.gracePeriodSeconds", Support: Refused, Text: "not yet; use annotation situ.gitops/grace-period"},
		{Path: "inPlaceUpdateStrategy.imagePreDownloadParallelism", Support: Dropped, Text: "before a container is stopped situ has its new image brought to the node, one node after the other as the budget goes"},
		{Path: "inPlaceUpdateStrategy.imagePreDownloadTimeoutSeconds", Support: Dropped, Text: "an image that does not come is a failed update once annotation situ.gitops/deadline is over"},
		{Path: "inPlaceUpdateStrategy.imagePreDownloadMinUpdatedReadyPods", Support: Dropped, Text: "images are brought to a node when its pods have their turn"},
	}
	for i := range rows {
		rows[i].Path, rows[i].Since = at+"."+rows[i].Path, version
	}
	return rows
}
