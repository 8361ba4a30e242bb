package planner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// A pod with more new images than may be pulled at a time gets them all: pulls
// that have ended, and stay as a proof, keep no other waiting.
func TestPullsThatHaveEndedKeepNoOtherWaiting(t *testing.T) {
	const images = maxPulls + 2
	from, to := manyContainers(t, images, "v1"), manyContainers(t, images, "v2")
	snap := Assume([]Manifest{from}, []Manifest{to})
	snap.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	snap.Images = nil
	for round, want := range []int{maxPulls, images - maxPulls, 0} {
		plan := Decide(Commit{ID: "c2", Manifests: []Manifest{to}}, snap)
		asked := 0
		for _, step := range plan.Workloads[0].Steps {
			for _, action := range step {
				if action.Name == "pull" {
					snap.Pulls = append(snap.Pulls, endedPull(t, action))
					asked++
				}
			}
		}
		if asked != want {
			t.Fatalf("round %d asks for %d pulls, want %d: %s", round+1, asked, want, plan.Workloads[0].Text)
		}
	}
}

// Somebody else's pod with the label of a pull, be it of the template itself, is
// neither counted nor deleted.
func TestAPodThatOnlyHasTheLabelOfAPullIsLeftAlone(t *testing.T) {
	from, to := manyContainers(t, 1, "v1"), manyContainers(t, 1, "v2")
	snap := Assume([]Manifest{from}, []Manifest{to})
	uid := snap.Live[to.Ref].Object.GetUID()
	yes := true
	for _, owner := range []metav1.OwnerReference{{}, {UID: uid, Controller: &yes}, {UID: "other"}} {
		for _, name := range []string{"situ-pull-mine", "mine"} {
			snap.Pulls = append(snap.Pulls, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: "mine",
				Labels: map[string]string{LabelPull: string(uid)}, OwnerReferences: []metav1.OwnerReference{owner}}})
		}
	}
	snap.Pulls = append(snap.Pulls, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "shop", UID: "mine",
		Labels: map[string]string{LabelPull: string(uid)}, OwnerReferences: []metav1.OwnerReference{{UID: uid}}}})
	for _, wanted := range []Manifest{from, to} {
		for _, step := range Decide(Commit{ID: "c2", Manifests: []Manifest{wanted}}, snap).Workloads[0].Steps {
			for _, action := range step {
				if action.Mode == Delete && action.UID == "mine" {
					t.Errorf("somebody's pod %s is to be deleted: %s", action.Ref, action.Text)
				}
			}
		}
	}
}

func manyContainers(t *testing.T, n int, tag string) Manifest {
	t.Helper()
	var containers strings.Builder
	for i := range n {
		fmt.Fprintf(&containers, "      - {name: c%d, image: 'c%d:%s'}\n", i, i, tag)
	}
	return manifest(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
`+containers.String())
}

// endedPull is the pod of an action once the kubelet has its image.
func endedPull(t *testing.T, action Action) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	object := (&unstructured.Unstructured{Object: action.Body.(map[string]any)}).DeepCopy()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod); err != nil {
		t.Fatal(err)
	}
	pod.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "pull", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "StartError"}}}}
	return pod
}
