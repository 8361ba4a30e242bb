package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// namespace is the one that the shop's manifests name.
const namespace = "shop"

// pods are the live pods of a workload, by name.
func (d *Demo) pods(ctx context.Context, workload string) ([]corev1.Pod, error) {
	list, err := d.Cluster.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + workload})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", workload, err)
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// verdict says what became of a workload's pods, from the pods themselves.
func verdict(before, after []corev1.Pod) string {
	were := map[string]corev1.Pod{}
	for _, pod := range before {
		were[string(pod.UID)] = pod
	}
	kept, moved := 0, 0
	restarts := map[string][]int32{} // by container, of the pods that were kept
	for _, pod := range after {
		was, known := were[string(pod.UID)]
		if !known {
			continue
		}
		kept++
		if was.Status.PodIP != pod.Status.PodIP {
			moved++
		}
		old := restartsOf(was)
		for _, status := range pod.Status.ContainerStatuses {
			restarts[status.Name] = append(restarts[status.Name], status.RestartCount-old[status.Name])
		}
	}
	switch {
	case kept == 0:
		return plural(len(after), "%d new pod: none of the UIDs is left.", "%d new pods: none of the UIDs is left.")
	case kept < len(before) || moved > 0:
		return fmt.Sprintf("%d of %d pods were kept, %d of them with another IP.", kept, len(before), moved)
	}
	return plural(kept, "The same %d pod, with its UID and IP; ", "The same %d pods, with their UIDs and IPs; ") + restarted(restarts) + "."
}

func restartsOf(pod corev1.Pod) map[string]int32 {
	restarts := map[string]int32{}
	for _, status := range pod.Status.ContainerStatuses {
		restarts[status.Name] = status.RestartCount
	}
	return restarts
}

// restarted is "restarted once in each: app", or which containers how often.
func restarted(restarts map[string][]int32) string {
	var once, other []string
	for name, times := range restarts {
		switch low, high := slices.Min(times), slices.Max(times); {
		case low == 1 && high == 1:
			once = append(once, name)
		case high > 0:
			other = append(other, fmt.Sprintf("%s %d to %d times", name, low, high))
		}
	}
	slices.Sort(once)
	slices.Sort(other)
	switch {
	case len(other) > 0:
		return "restarted: " + strings.Join(append(once, other...), ", ")
	case len(once) > 0:
		return "restarted once in each: " + strings.Join(once, ", ")
	}
	return "no container was restarted"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf(one, n)
	}
	return fmt.Sprintf(many, n)
}
