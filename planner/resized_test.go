package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// limited adds a limit to what asksFor gives.
func limited(cpu string) edit {
	return func(o map[string]any) {
		containers(o)[0].(map[string]any)["resources"] = map[string]any{
			"requests": map[string]any{"cpu": "100m", "memory": "16Mi"}, "limits": map[string]any{"cpu": cpu}}
	}
}

// A running pod can get a limit but not lose it: one that a commit gave and its
// revert takes back costs the pod, though its label never moved.
func TestALimitThatACommitTookBackIsNotLeftOnAnyPod(t *testing.T) {
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"} {
		for rounds := range 8 {
			t.Run(fmt.Sprintf("%s after %d rounds", kind, rounds), func(t *testing.T) {
				s := newStory(t, workload(t, kind), asksFor("100m"))
				s.settle(Settled)
				s.change(limited("200m"))
				s.rounds(rounds)
				s.change(asksFor("100m"))
				s.settle(Settled)
				for _, name := range s.members() {
					if limits := s.pods[name].Spec.Containers[0].Resources.Limits; len(limits) > 0 {
						t.Errorf("pod %s still has the limits %v", name, limits)
					}
				}
			})
		}
	}
}

// What the template lacks and the pod has may be the server's own, also where it
// is what an earlier template said.
func TestALimitIsOnlyLeftOverWhereAResizeCanHaveLeftIt(t *testing.T) {
	live := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("16Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("200m")}}}}}}
		pod.Generation = 2
		change(pod)
		return pod
	}
	web := func(edits ...edit) Template { return templateOf(edited(workload(t, "ReplicaSet"), edits...).Object) }
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		had  string // the limit of the earlier template
		want []string
	}{
		{"a resize left it", live(func(*corev1.Pod) {}), "200m", []string{"spec.containers[web].resources.limits.cpu"}},
		{"no template ever had it", live(func(*corev1.Pod) {}), "300m", nil},
		{"the pod was born with it", live(func(pod *corev1.Pod) { pod.Generation = 1 }), "200m", nil},
		{"it is a LimitRange's", live(func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{limitRangerAnnotation: "LimitRanger plugin set: cpu limit for container web"}
		}), "200m", nil},
		{"a LimitRange gave something else", live(func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{limitRangerAnnotation: "LimitRanger plugin set: memory request for container tail"}
		}), "200m", []string{"spec.containers[web].resources.limits.cpu"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := assessor{amounts: resizable(web(asksFor("100m"))), history: []map[string]any{
				edited(workload(t, "ReplicaSet"), limited(tt.had)).Object, edited(workload(t, "ReplicaSet"), asksFor("100m")).Object}}
			var got []string
			for _, change := range a.leftOver(tt.pod, nil) {
				got = append(got, change.Field)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("left over are %v, want %v", got, tt.want)
			}
		})
	}
}

// A resize that restarts a container is a restart like any other: traffic leaves
// first, and the image that comes with it is on the node.
func TestAResizeThatRestartsClosesTheGateFirst(t *testing.T) {
	restarting := func(memory string) edit {
		return func(o map[string]any) {
			c := containers(o)[0].(map[string]any)
			c["resources"] = map[string]any{"requests": map[string]any{"cpu": "100m", "memory": memory}}
			c["resizePolicy"] = []any{map[string]any{"resourceName": "memory", "restartPolicy": "RestartContainer"}}
		}
	}
	for name, edits := range map[string][]edit{"alone": {restarting("32Mi")}, "with an image": {restarting("32Mi"), image(0, "app:v2")}} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, workload(t, "ReplicaSet"), restarting("16Mi"), withGate)
			s.settle(Settled)
			s.change(edits...)
			resized := 0
			for range 40 {
				s.rounds(1)
				for _, action := range namedActions(s.plan, 0, "resize") {
					pod := s.pods[action.Ref.Name]
					if pod == nil {
						continue
					}
					resized++
					if status, _ := gateOf(pod); status != corev1.ConditionFalse {
						t.Errorf("pod %s is resized with its gate %s, want False", pod.Name, status)
					}
				}
			}
			s.settle(Settled)
			if resized == 0 {
				t.Error("no pod was resized")
			}
			for _, member := range s.members() {
				if status, _ := gateOf(s.pods[member]); status != corev1.ConditionTrue {
					t.Errorf("the gate of pod %s is %s in the end, want True", member, status)
				}
			}
		})
	}
}
