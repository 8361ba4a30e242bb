package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
)

// stock are the resources of the kinds that may share their name with a workload
// of OpenKruise.
var stock = map[string]schema.GroupVersionResource{
	"Deployment": deployments, "StatefulSet": statefulSets, "DaemonSet": daemonSets, "ReplicaSet": replicaSets,
}

// namesakes are where the stock objects are that the target's plan depends on.
func (t target) namesakes() map[planner.Ref]named {
	found := map[planner.Ref]named{}
	for _, ref := range planner.NamesakesOf(t.manifest) {
		found[ref] = named{place{stock[ref.Kind], ref.Namespace}, ref.Name}
	}
	return found
}

// gatherNamesakes adds those of a target that exist, and has all of them watched.
func (c *Client) gatherNamesakes(snapshot planner.Snapshot, t target, names map[named]bool, owners map[types.UID]bool) {
	for ref, at := range t.namesakes() {
		names[at] = true
		if seen := c.caches.find(at.place, at.name); seen != nil {
			snapshot.Namesakes[ref] = planner.Namesake{Object: seen.full, Ours: seen.ours}
			c.gatherOwned(snapshot, owners, ref.Namespace, seen.GetUID())
		}
	}
}

// gatherStrays adds what a hosted workload may find without anybody who looks
// after it, and has it watched.
func (c *Client) gatherStrays(snapshot planner.Snapshot, t target, owners map[types.UID]bool) {
	namespace := t.manifest.Namespace
	if _, done := snapshot.Strays[namespace]; done || t.manifest.Hosting == nil {
		return
	}
	var found planner.Strays
	for _, pod := range c.caches.strays(place{podResource, namespace}) {
		found.Pods = append(found.Pods, pod.pod)
		owners[ownerOf(pod)] = true
	}
	for _, set := range c.caches.strays(place{replicaSets, namespace}) {
		found.Sets = append(found.Sets, set.full)
		c.gatherOwned(snapshot, owners, namespace, set.GetUID())
	}
	for _, revision := range c.caches.strays(place{revisions, namespace}) {
		found.Revisions = append(found.Revisions, revision.full)
	}
	found.Pods = append(found.Pods, c.deserted(namespace)...)
	owners[""] = true
	snapshot.Strays[namespace] = found
}

// deserted are the pods of a namespace whose ReplicaSet is gone. Each resource is
// watched for itself: that they were let go before it went may not be seen yet.
func (c *Client) deserted(namespace string) []*corev1.Pod {
	exists := map[types.UID]bool{}
	for _, set := range c.caches.all(place{replicaSets, namespace}) {
		exists[set.GetUID()] = true
	}
	var found []*corev1.Pod
	for _, seen := range c.caches.all(place{podResource, namespace}) {
		if owner := metav1.GetControllerOfNoCopy(seen); owner != nil && owner.Kind == "ReplicaSet" && !exists[owner.UID] {
			found = append(found, seen.pod)
		}
	}
	return found
}
