package cluster

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mostSiblings bounds how many controllers are remembered, dead ones included.
const mostSiblings = 1024

// siblings lets pods of one controller share what they have in common: most of
// their spec. Nobody edits an object of a cache, so nobody notices.
type siblings struct {
	mu   sync.Mutex
	last map[types.UID]*corev1.Pod // by controller
}

// join makes a pod share with the one that came before it.
func (s *siblings) join(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := ownerOf(pod)
	if elder := s.last[owner]; elder != nil {
		shareMetadata(pod, elder)
		shareSpec(&pod.Spec, &elder.Spec)
		shareStatus(&pod.Status, &elder.Status)
	}
	if s.last == nil || len(s.last) >= mostSiblings {
		s.last = map[types.UID]*corev1.Pod{}
	}
	s.last[owner] = pod
}

func shareMetadata(pod, elder *corev1.Pod) {
	shareText(&pod.Namespace, elder.Namespace)
	shareText(&pod.GenerateName, elder.GenerateName)
	if maps.Equal(pod.Labels, elder.Labels) {
		pod.Labels = elder.Labels
	}
	share(&pod.OwnerReferences, elder.OwnerReferences)
}

func shareSpec(spec, elder *corev1.PodSpec) {
	shareContainers(&spec.InitContainers, elder.InitContainers)
	shareContainers(&spec.Containers, elder.Containers)
	share(&spec.Tolerations, elder.Tolerations)
	share(&spec.Affinity, elder.Affinity)
	share(&spec.NodeSelector, elder.NodeSelector)
	share(&spec.SecurityContext, elder.SecurityContext)
	share(&spec.TopologySpreadConstraints, elder.TopologySpreadConstraints)
	share(&spec.ImagePullSecrets, elder.ImagePullSecrets)
	shareText(&spec.NodeName, elder.NodeName)
	shareText(&spec.SchedulerName, elder.SchedulerName)
	shareText(&spec.ServiceAccountName, elder.ServiceAccountName)
	shareText(&spec.DeprecatedServiceAccount, elder.DeprecatedServiceAccount)
	for i := range min(len(spec.Volumes), len(elder.Volumes)) {
		share(&spec.Volumes[i].VolumeSource, elder.Volumes[i].VolumeSource) // the name differs for a token's
	}
}

// shareContainers shares whole containers, or what is in them beside the mount of
// a token, whose name is another for each pod.
func shareContainers(containers *[]corev1.Container, elders []corev1.Container) {
	if share(containers, elders) || len(*containers) != len(elders) {
		return
	}
	for i := range *containers {
		container, elder := &(*containers)[i], &elders[i]
		shareText(&container.Name, elder.Name)
		shareText(&container.Image, elder.Image)
		share(&container.Command, elder.Command)
		share(&container.Args, elder.Args)
		share(&container.Ports, elder.Ports)
		share(&container.Env, elder.Env)
		share(&container.EnvFrom, elder.EnvFrom)
		share(&container.Resources, elder.Resources)
		share(&container.LivenessProbe, elder.LivenessProbe)
		share(&container.ReadinessProbe, elder.ReadinessProbe)
		share(&container.StartupProbe, elder.StartupProbe)
		share(&container.Lifecycle, elder.Lifecycle)
		share(&container.SecurityContext, elder.SecurityContext)
		for j := range min(len(container.VolumeMounts), len(elder.VolumeMounts)) {
			shareText(&container.VolumeMounts[j].MountPath, elder.VolumeMounts[j].MountPath)
		}
	}
}

func shareStatus(status, elder *corev1.PodStatus) {
	shareText(&status.HostIP, elder.HostIP)
	share(&status.HostIPs, elder.HostIPs)
	shareText((*string)(&status.Phase), string(elder.Phase))
	shareText((*string)(&status.QOSClass), string(elder.QOSClass))
	for i := range min(len(status.Conditions), len(elder.Conditions)) {
		shareText((*string)(&status.Conditions[i].Type), string(elder.Conditions[i].Type))
		shareText((*string)(&status.Conditions[i].Status), string(elder.Conditions[i].Status))
	}
	for i := range min(len(status.ContainerStatuses), len(elder.ContainerStatuses)) {
		container, elder := &status.ContainerStatuses[i], &elder.ContainerStatuses[i]
		shareText(&container.Name, elder.Name)
		shareText(&container.Image, elder.Image)
		shareText(&container.ImageID, elder.ImageID)
		share(&container.AllocatedResources, elder.AllocatedResources)
		share(&container.Resources, elder.Resources)
	}
}

// share takes the elder's value if it is equal, and says whether it is.
func share[T any](value *T, elder T) bool {
	if !reflect.DeepEqual(*value, elder) {
		return false
	}
	*value = elder
	return true
}

// shareText is share for text: equal text in one place.
func shareText(text *string, elder string) {
	if *text == elder {
		*text = elder
	}
}

// tight drops the room that a decoder left at the end of what it read.
func tight(pod *corev1.Pod) {
	pod.Spec.Containers = slices.Clone(pod.Spec.Containers)
	pod.Spec.InitContainers = slices.Clone(pod.Spec.InitContainers)
	pod.Spec.Volumes = slices.Clone(pod.Spec.Volumes)
	pod.Status.Conditions = slices.Clone(pod.Status.Conditions)
	pod.Status.ContainerStatuses = slices.Clone(pod.Status.ContainerStatuses)
}
