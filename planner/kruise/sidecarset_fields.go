package kruise

// sidecarSetFields is the table of both versions.
func sidecarSetFields() []Field {
	return []Field{
		{Path: "spec.selector", Support: Works, Text: "of pods; it must select by something"},
		{Path: "spec.namespace", Since: "v1alpha1", Support: Works, Text: "pods in kube-system and kube-public never get containers"},
		{Path: "spec.namespaceSelector", Since: "v1alpha1", Support: Works, Text: "by name or by label"},
		{Path: "spec.specificNamespace", Since: "v1beta1", Support: Works, Text: "by name or by label; pods in kube-system and kube-public never get containers"},
		{Path: "spec.initContainers", Support: Works, Text: "behind those of the pod, by name; a native sidecar (restartPolicy: Always) is updated in place as containers are"},
		{Path: "spec.initContainers[].podInjectPolicy", Support: Dropped, Text: "init containers come behind those of the pod; remove it"},
		{Path: "spec.initContainers[].shareVolumeDevicePolicy", Support: Refused, Text: "name the device in volumeDevices"},
		{Path: "spec.initContainers[].upgradeStrategy.hotUpgradeEmptyImage", Support: Refused, Text: "remove it, ColdUpgrade has no second container"},
		{Path: "spec.containers", Support: Works, Text: "injected when a pod is made; a new image comes in place, any other change when the pod is made anew, which the plan counts"},
		{Path: "spec.containers[].podInjectPolicy", Support: Works, Text: "BeforeAppContainer if it is not written"},
		{Path: "spec.containers[].shareVolumePolicy", Support: Works, Text: "mounts of the pod's own containers, each path once; what the container mounts itself comes first"},
		{Path: "spec.containers[].shareVolumeDevicePolicy", Support: Refused, Text: "name the device in volumeDevices"},
		{Path: "spec.containers[].transferEnv", Support: Works, Text: "copied when the pod is made; an env that the container has itself stays"},
		{Path: "spec.containers[].transferEnv[].sourceContainerNameFrom", Support: Works, Text: "a label or an annotation of the pod"},
		{Path: "spec.containers[].upgradeStrategy.upgradeType", Support: Works, Text: "ColdUpgrade; HotUpgrade is refused: two containers that take turns are not supported yet"},
		{Path: "spec.containers[].upgradeStrategy.hotUpgradeEmptyImage", Support: Refused, Text: "remove it, ColdUpgrade has no second container"},
		{Path: "spec.volumes", Support: Works, Text: "for new pods; a volume of that name that the pod has itself stays"},
		{Path: "spec.imagePullSecrets", Support: Works, Text: "for new pods"},
		{Path: "spec.patchPodMetadata", Support: Works, Text: "Retain if no policy is written; Overwrite comes with an update in place, too"},
		{Path: "spec.injectionStrategy.paused", Support: Works, Text: "pods made meanwhile do not get the containers, and the plan names them"},
		{Path: "spec.injectionStrategy.revision", Support: Refused, Text: "revert the commit to inject an earlier state, or use updateStrategy.partition to hold running pods back"},
		{Path: "spec.updateStrategy.type", Support: Works, Text: "RollingUpdate if it is not written; NotUpdate leaves running pods as they are"},
		{Path: "spec.updateStrategy.paused", Support: Works, Text: "running pods stay as they are"},
		{Path: "spec.updateStrategy.selector", Support: Works, Text: "only pods that it selects are updated"},
		{Path: "spec.updateStrategy.partition", Support: Works, Text: "of all pods that have the containers; a share rounds up"},
		{Path: "spec.updateStrategy.maxUnavailable", Support: Works, Text: "1 if it is not written; a share rounds down, and to 1 at least; PodDisruptionBudgets are kept, too"},
		{Path: "spec.updateStrategy.priorityStrategy", Support: Works, Text: "which pods come first; without it, the youngest"},
		{Path: "spec.updateStrategy.scatterStrategy", Support: Works, Text: "a value of * stands for every value that pods have"},
		{Path: "spec.revisionHistoryLimit", Support: Dropped, Text: "no revisions are kept; remove it, the history is Git's"},
		{Path: "spec.customVersion", Since: "v1beta1", Support: Dropped, Text: "no revisions are kept; remove it, commits name the versions"},
	}
}
