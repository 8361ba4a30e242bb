package cluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"situ.gitops/planner"
)

// quietWords hides in the kubelet's own words what they repeat of a pod: of a
// container that cannot start, they tell the command. What the caches hold is
// then safe to show.
func quietWords(pod *corev1.Pod) {
	words := wordsOf(pod)
	if len(words) == 0 {
		return
	}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod.Spec)
	for _, text := range words {
		if err != nil { // nothing is known to be safe
			*text = hidden
			continue
		}
		*text = withoutValues(*text, secretsIn(planner.Ref{Kind: "Pod"}, spec))
	}
}

// wordsOf are the texts of a pod's status that are not empty and are read.
func wordsOf(pod *corev1.Pod) []*string {
	var words []*string
	add := func(text *string) {
		if *text != "" {
			words = append(words, text)
		}
	}
	add(&pod.Status.Message)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if waiting := list[i].State.Waiting; waiting != nil {
				add(&waiting.Message)
			}
		}
	}
	return words
}
