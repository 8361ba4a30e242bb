package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"situ.gitops/planner"
)

// The cache of pods moves on while a snapshot is gathered: the workloads have read
// version 1 of a pod, and the sets find version 2.
func TestASetSeesAPodAsItsWorkloadDoes(t *testing.T) {
	pod := func(name, version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID("uid-of-" + name), ResourceVersion: version, Labels: map[string]string{"logs": "shipped"}}}
	}
	informer := cache.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, cache.Indexers{pullIndex: indexByPull})
	for _, now := range []*corev1.Pod{pod("web", "2"), pod("strange", "2")} {
		if err := informer.GetIndexer().Add(sightingOf(t, now)); err != nil {
			t.Fatal(err)
		}
	}
	client := &Client{caches: &caches{open: map[place]*watched{{podResource, "shop"}: {informer: informer}}}}
	set := func(name string) target {
		ref := planner.Ref{Kind: "MutatingAdmissionPolicy", Name: name}
		return target{served: true, manifest: planner.Manifest{Ref: ref, Hosting: &planner.Hosting{Sidecars: &planner.Sidecars{
			Set: name, Namespaces: &metav1.LabelSelector{}, Pods: &metav1.LabelSelector{MatchLabels: map[string]string{"logs": "shipped"}}}}}}
	}
	snapshot := planner.Snapshot{
		Pods:    map[types.UID][]*corev1.Pod{"web's": {pod("web", "1")}},
		Matched: map[planner.Ref][]*corev1.Pod{},
	}
	targets, found := []target{set("logs"), set("mesh")}, map[planner.Ref]matched{}
	for _, t := range targets {
		found[t.manifest.Ref] = matched{"shop": {"web", "strange"}}
	}
	client.gatherMatched(&snapshot, targets, found, map[named]bool{}, map[place]bool{})
	for _, at := range targets {
		var seen []string
		for _, pod := range snapshot.Matched[at.manifest.Ref] {
			seen = append(seen, pod.Name+" "+pod.ResourceVersion)
		}
		if got := strings.Join(seen, ", "); got != "web 1, strange 2" {
			t.Errorf("the set %s sees %s; want web 1 as its workload does, and strange 2", at.manifest.Name, got)
		}
	}
}
