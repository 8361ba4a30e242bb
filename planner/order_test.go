package planner

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodsThatNothingTellsApartComeInOneOrder(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*corev1.Pod)
	}{
		{"without a node", func(*corev1.Pod) {}},
		{"made from what is not seen yet", func(pod *corev1.Pod) {
			pod.CreationTimestamp = metav1.NewTime(storyStart)
			pod.Labels = nil
		}},
	} {
		for _, kind := range workloadKinds {
			m := workload(t, kind)
			snap := Assume([]Manifest{m}, []Manifest{m})
			snap.Now = storyStart.Add(time.Second)
			for owner, pods := range snap.Pods {
				twin := pods[0].DeepCopy()
				twin.Name, twin.UID = "twin-"+twin.Name, "twin"
				snap.Pods[owner] = append(pods, twin)
				for _, pod := range snap.Pods[owner] {
					tt.edit(pod)
					makeUnready(pod)
				}
			}
			commit := Commit{ID: "c", Manifests: []Manifest{m}}
			if plan, again := planJSON(t, Decide(commit, snap)), planJSON(t, Decide(commit, shuffled(snap))); plan != again {
				t.Errorf("%s, %s: the same pods in another order gave another plan:\n%s\n%s", kind, tt.name, plan, again)
			}
		}
	}
}

var storyStart = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
