package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"situ.gitops/planner"
)

// stocked is a client whose caches hold some pods, and talk to nobody.
func stocked(t *testing.T, pods ...*corev1.Pod) *Client {
	t.Helper()
	server, err := kubernetes.NewForConfig(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	at := place{podResource, "shop"}
	w := newWatched(at, sources{core: server.CoreV1()}, "situ", func(event) {})
	for _, pod := range pods {
		if err := w.informer.GetIndexer().Add(sightingOf(t, pod)); err != nil {
			t.Fatal(err)
		}
	}
	return &Client{caches: &caches{open: map[place]*watched{at: w}}}
}

// Whichever workload of a namespace comes first, each that looks for pods sees
// those whose ReplicaSet is seen to be gone before they are seen to be free.
func TestPodsThatAReplicaSetLeavesBehindAreSeenBesideAHostThatIsThere(t *testing.T) {
	yes := true
	left := podNamed("left")
	left.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", UID: "gone", Controller: &yes}}
	c := stocked(t, left)
	hosted := planner.Manifest{Ref: planner.Ref{Kind: "ReplicaSet", Namespace: "shop"}, Hosting: &planner.Hosting{}}
	snapshot := planner.Snapshot{Strays: map[string]planner.Strays{}, Pods: map[types.UID][]*corev1.Pod{}, Owned: map[types.UID][]*unstructured.Unstructured{}}
	for _, t := range []target{{manifest: hosted, live: &sighting{}}, {manifest: hosted}} {
		c.gatherStrays(snapshot, t, map[types.UID]bool{})
	}
	if got := snapshot.Strays["shop"].Pods; len(got) != 1 || got[0].Name != "left" {
		t.Errorf("strays are %v, want the pod that is left behind, once", got)
	}
}
