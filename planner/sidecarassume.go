package planner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
)

// assumeSidecars gives the assumed pods what the SidecarSets of before gave them,
// and lets those of now match them. Namespaces are told by their names only.
func (s *Snapshot) assumeSidecars(from, to []Manifest) {
	before := map[Ref]*Sidecars{}
	for _, m := range from {
		if m.Hosting != nil && m.Hosting.Sidecars != nil {
			before[m.Ref] = m.Hosting.Sidecars
		}
	}
	s.Matched = map[Ref][]*corev1.Pod{}
	for _, m := range to {
		if m.Hosting == nil || m.Hosting.Sidecars == nil {
			continue
		}
		for _, pods := range s.Pods {
			for _, pod := range pods {
				set := m.Hosting.Sidecars
				if !set.Matches(pod.Labels) || !set.mayCover(pod.Namespace) {
					continue
				}
				if old := before[m.Ref]; old != nil && old.Injecting && old.Matches(pod.Labels) {
					old.assumeInjected(pod)
				}
				s.Matched[m.Ref] = append(s.Matched[m.Ref], pod)
			}
		}
	}
}

func (s *Sidecars) assumeInjected(pod *corev1.Pod) {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationSidecarSet+s.Set, s.Record.String())
	for _, c := range containersOf(s.Template) {
		container := corev1.Container{Name: c.name, Image: textAt(c.spec, "image")}
		list, statuses := &pod.Spec.Containers, &pod.Status.ContainerStatuses
		if c.init {
			list, statuses = &pod.Spec.InitContainers, &pod.Status.InitContainerStatuses
		}
		*list = append(*list, container)
		*statuses = append(*statuses, assumedContainers([]corev1.Container{container})...)
	}
}
