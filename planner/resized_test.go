package planner

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// asksFor gives the first container requests of cpu.
func asksFor(cpu string) edit {
	return func(o map[string]any) {
		containers(o)[0].(map[string]any)["resources"] = map[string]any{"requests": map[string]any{"cpu": cpu, "memory": "16Mi"}}
	}
}

func TestNoOrderOfEventsLeavesTheResizeOfAnEarlierCommit(t *testing.T) {
	onEachRace(t, func(s *story, random *rand.Rand) {
		before := s.uids()
		s.change(asksFor("200m"), image(0, "app:v2"))
		s.race(random, random.IntN(60))
		s.change(asksFor("100m"), image(0, "app:v1"))
		s.settle(Settled)
		s.sameSince(before)
		for _, pod := range s.world.pods {
			if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "100m" && pod.Labels[LabelPull] == "" {
				t.Errorf("pod %s asks for %s of cpu, want 100m", pod.Name, got)
			}
		}
	}, asksFor("100m"))
}

func TestAmountsThatNoTemplateHadAreSomebodyElses(t *testing.T) {
	m := edited(workload(t, "ReplicaSet"), asksFor("100m"))
	snap := Assume([]Manifest{m}, []Manifest{m})
	for _, pods := range snap.Pods {
		pods[0].Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("333m")
	}
	plan := Decide(Commit{ID: "c", Manifests: []Manifest{m}}, snap)
	if !plan.Empty() {
		t.Errorf("Decide with a pod that was resized by others = %s, want nothing to do", planJSON(t, plan))
	}
}
