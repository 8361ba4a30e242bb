package planner

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// meddle writes on a running pod as somebody else would. Like the server, it
// counts a changed spec.
func (s *story) meddle(name string, write func(*corev1.Pod)) {
	s.meddled = true
	pod := s.pods[name].DeepCopy()
	write(pod)
	if !reflect.DeepEqual(pod.Spec, s.pods[name].Spec) {
		pod.Generation++
	}
	s.pods[name] = pod
}

func setImage(image string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = image }
}

// drifts are the fields that have drifted, by pod.
func (s *story) drifts() map[string][]Drift {
	found := map[string][]Drift{}
	for _, pod := range s.plan.Workloads[0].Pods {
		if len(pod.Drift) > 0 {
			found[pod.Name] = pod.Drift
		}
	}
	return found
}

// onEachController leaves bare pods out: what others change of those is brought
// back, since nothing but the pod itself says what it was made from.
func onEachController(t *testing.T, tell func(t *testing.T, s *story), edits ...edit) {
	for _, kind := range workloadKinds {
		if kind == "Pod" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind), edits...)
			s.settle(Settled)
			s.room = 1
			tell(t, s)
		})
	}
}

func TestDriftIsToldAndLeftAlone(t *testing.T) {
	onEachController(t, func(t *testing.T, s *story) {
		before, writes, name := s.uids(), s.writes, s.members()[0]
		s.meddle(name, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Image = "app:v3"
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("333m")
			pod.Labels["tier"] = "edge"
			delete(pod.Annotations, "config")
		})
		for range 8 {
			s.tick()
			s.catchUpAll("situ")
			s.round()
		}
		want := map[string][]Drift{name: {
			{Field: "metadata.labels.tier", Template: "web", Live: "edge", Text: "label tier"},
			{Field: "metadata.annotations.config", Template: "a", Text: "annotation config"},
			{Field: "spec.containers[web].image", Template: "app:v1", Live: "app:v3", Text: "image of container web"},
			{Field: "spec.containers[web].resources.requests.cpu", Template: "100m", Live: "333m", Text: "cpu request of container web"},
		}}
		if got := s.drifts(); !reflect.DeepEqual(got, want) {
			t.Errorf("drift is\n%+v\nwant\n%+v", got, want)
		}
		if s.plan.State != Settled || !s.plan.Empty() || s.writes != writes {
			t.Errorf("%d writes, and the plan is\n%s\nwant it settled, with nothing to do", s.writes-writes, planText(t, s.plan))
		}
		s.sameSince(before)
	}, asksFor("100m"), set1("web", "spec", "template", "metadata", "labels", "tier"))
}

func TestACommitThatChangesTheFieldEndsDrift(t *testing.T) {
	onEachController(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.meddle(s.members()[0], setImage("app:v3"))
		s.tick()
		s.change(image(0, "app:v2"))
		s.settle(Settled)
		s.sameSince(before)
		if got := s.drifts(); len(got) > 0 {
			t.Errorf("drift is %+v, want none: the commit has set the field", got)
		}
		for i, name := range s.members() {
			if got, want := s.pods[name].Status.ContainerStatuses[0].RestartCount, 1+boolInt(i == 0); int(got) != want {
				t.Errorf("pod %s restarted %d times, want %d", name, got, want)
			}
		}
	})
}

// The pod that has the image already restarts no more, and no plan says so.
func TestACommitOfWhatThePodHasAlreadyRestartsTheOthersOnly(t *testing.T) {
	onEachController(t, func(t *testing.T, s *story) {
		before, name := s.uids(), s.members()[0]
		s.meddle(name, setImage("app:v3"))
		s.tick()
		s.tick()
		s.change(image(0, "app:v3"))
		s.catchUpAll("situ")
		s.decide()
		for _, pod := range s.plan.Workloads[0].Pods {
			want := Restart
			if pod.Name == name {
				want = Metadata
			}
			if pod.Verb != want || len(pod.Drift) > 0 {
				t.Errorf("pod %s: %s, drift %+v; want %s and no drift", pod.Name, pod.Verb, pod.Drift, want)
			}
		}
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
	})
}

// An image that somebody set is no reason to think that a container gets a new
// one: what reads the changed annotation restarts under another name of it.
func TestAnImageSetByHandDoesNotKeepAnEnvOld(t *testing.T) {
	reads := func(o map[string]any) {
		containers(o)[0].(map[string]any)["env"] = []any{map[string]any{"name": "C", "valueFrom": map[string]any{
			"fieldRef": map[string]any{"apiVersion": "v1", "fieldPath": "metadata.annotations['config']"}}}}
	}
	onEachController(t, func(t *testing.T, s *story) {
		name := s.members()[0]
		s.meddle(name, setImage("app:v3"))
		s.tick()
		s.tick()
		s.change(image(0, "app:v3"), podAnnotation("config", "b"))
		s.settle(Settled)
		for i, name := range s.members() {
			if got, want := s.pods[name].Status.ContainerStatuses[0].RestartCount, 1+boolInt(i == 0); int(got) != want {
				t.Errorf("pod %s restarted %d times, want %d", name, got, want)
			}
		}
		if got := s.drifts(); len(got) > 0 {
			t.Errorf("drift is %+v, want none: the other name of the image is situ's own", got)
		}
	}, reads)
}

func TestACommitOfAnotherFieldLeavesDriftAsItIs(t *testing.T) {
	onEachController(t, func(t *testing.T, s *story) {
		name := s.members()[0]
		s.meddle(name, func(pod *corev1.Pod) { pod.Labels["tier"] = "edge" })
		s.change(image(1, "tail:v2"))
		s.settle(Settled)
		want := map[string][]Drift{name: {{Field: "metadata.labels.tier", Template: "web", Live: "edge", Text: "label tier"}}}
		if got := s.drifts(); !reflect.DeepEqual(got, want) {
			t.Errorf("drift is %+v, want %+v", got, want)
		}
		s.restarted(1, 1)
	}, set1("web", "spec", "template", "metadata", "labels", "tier"))
}

func TestWhatIsNoDrift(t *testing.T) {
	for _, tt := range []struct {
		name string
		is   func(*corev1.Pod)
	}{
		{"a label and an annotation of others", func(pod *corev1.Pod) { pod.Labels["x"], pod.Annotations["x"] = "y", "y" }},
		{"an injected container", func(pod *corev1.Pod) {
			pod.Generation = 2
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "mesh", Image: "mesh:v1"})
		}},
		{"an image and an amount that the pod was admitted with", func(pod *corev1.Pod) {
			pod.Generation = 1
			pod.Spec.Containers[0].Image = "mirror.example/app:v1"
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("333m")
		}},
		{"the digest of its image", func(pod *corev1.Pod) { pod.Generation, pod.Spec.Containers[0].Image = 2, "app:v1@sha256:0123" }},
		{"a name that situ gave it for a restart", func(pod *corev1.Pod) {
			pod.Generation, pod.Spec.Containers[0].Image = 3, "app@sha256:0123"
			pod.Annotations[AnnotationState] = jsonText(Mark{Version: 1, Alias: map[string]string{"app@sha256:0123": "app:v1"}})
		}},
		{"an amount spelt otherwise", func(pod *corev1.Pod) {
			pod.Generation = 2
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("0.1")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := edited(workload(t, "ReplicaSet"), asksFor("100m"))
			snap := Assume([]Manifest{m}, []Manifest{m})
			for _, pods := range snap.Pods {
				tt.is(pods[0])
			}
			for _, pod := range Decide(Commit{ID: "c", Manifests: []Manifest{m}}, snap).Workloads[0].Pods {
				if len(pod.Drift) > 0 {
					t.Errorf("drift of pod %s = %+v, want none", pod.Name, pod.Drift)
				}
			}
		})
	}
}

func TestDriftShowsNoValueThatAnEnvReads(t *testing.T) {
	reads := []any{map[string]any{"name": "C", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.annotations['config']"}}}}
	m := edited(workload(t, "StatefulSet"), set1([]any{map[string]any{"name": "setup", "image": "setup:v1", "env": reads}}, "spec", "template", "spec", "initContainers"))
	snap := Assume([]Manifest{m}, []Manifest{m})
	for _, pods := range snap.Pods {
		pods[0].Annotations["config"] = "hunter2"
	}
	got := Decide(Commit{ID: "c", Manifests: []Manifest{m}}, snap).Workloads[0].Pods
	want := []Drift{{Field: "metadata.annotations.config", Text: "annotation config"}}
	if !slices.ContainsFunc(got, func(p PodPlan) bool { return reflect.DeepEqual(p.Drift, want) }) {
		t.Errorf("pods are %+v, want one with drift %+v", got, want)
	}
}

func TestDriftOfOnePodIsThatOfThePlan(t *testing.T) {
	onEachController(t, func(t *testing.T, s *story) {
		s.change(image(1, "tail:v2"))
		s.settle(Settled)
		name := s.members()[0]
		s.meddle(name, setImage("app:v3"))
		s.catchUpAll("situ")
		s.decide()
		snap := s.snapshot(s.commit, s.cache("situ"))
		got := DriftOf(snap.Live[s.commit.Manifests[0].Ref].Object, snap.Owned, s.pods[name])
		if want := s.drifts()[name]; len(want) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("DriftOf = %+v, want %+v as in the plan", got, want)
		}
	})
}
