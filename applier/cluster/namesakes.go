package cluster

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

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
func (c *Client) gatherNamesakes(snapshot planner.Snapshot, t target, names map[named]bool) {
	for ref, at := range t.namesakes() {
		names[at] = true
		if seen := c.caches.find(at.place, at.name); seen != nil {
			snapshot.Namesakes[ref] = planner.Namesake{Object: seen.full, Ours: seen.ours}
		}
	}
}
