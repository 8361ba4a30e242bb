package planner

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func replicas(n int) edit { return set1(int64(n), "spec", "replicas") }

// removals are the pods that a plan says to go.
func removals(w WorkloadPlan) []string {
	var names []string
	for _, pod := range w.Pods {
		if pod.Verb == Remove {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// What the plan names before anything is written is what then goes.
func TestAPlanNamesThePodsThatGoForGood(t *testing.T) {
	surging := hosting(t, func(s *Settings) { s.MaxSurge = &Amount{Value: 2} })
	partitioned := hosting(t, func(s *Settings) { s.Partition = &Amount{Value: 1} })
	for _, tt := range []struct {
		name    string
		from    Manifest
		wanted  int
		edits   []edit
		verdict Verdict
	}{
		{"a Deployment", workload(t, "Deployment"), 1, nil, Remove},
		{"a Deployment, none is left", workload(t, "Deployment"), 0, nil, Remove},
		{"a Deployment with a new image", workload(t, "Deployment"), 2, []edit{image(0, "app:v2"), set1(int64(1), "spec", "strategy", "rollingUpdate", "maxUnavailable")}, Restart},
		{"a StatefulSet", workload(t, "StatefulSet"), 2, nil, Remove},
		{"a StatefulSet with a new image", workload(t, "StatefulSet"), 3, []edit{image(0, "app:v2")}, Restart},
		{"a ReplicaSet", workload(t, "ReplicaSet"), 3, nil, Remove},
		{"a CloneSet", hosting(t, func(*Settings) {}), 1, nil, Remove},
		{"a CloneSet that surges", surging, 1, nil, Remove},
		{"a CloneSet that surges, and pods are made anew", surging, 2, []edit{env("other")}, Recreate},
		{"a CloneSet with a partition", partitioned, 2, nil, Remove},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStory(t, tt.from, replicas(4))
			s.settle(Settled)
			s.now = s.now.Add(time.Hour) // else pods are of another age each moment
			before := s.members()
			s.change(append(tt.edits, replicas(tt.wanted))...)
			s.catchUpAll("situ")
			s.decide()
			w := s.plan.Workloads[0]
			if w.Verdict != tt.verdict || w.State != Progressing || s.plan.Empty() {
				t.Errorf("the plan is %s, %s, empty %t; want %s, progressing and something", w.Verdict, w.State, s.plan.Empty(), tt.verdict)
			}
			named := removals(w)
			if len(named) != 4-tt.wanted {
				t.Fatalf("%v go, want %d pods:\n%s", named, 4-tt.wanted, planText(t, s.plan))
			}
			if text := fmt.Sprintf("%d go, and no others take their places", 4-tt.wanted); !slices.ContainsFunc(w.Reasons, func(r Reason) bool { return r.Text == text && r.From == "4" }) {
				t.Errorf("the reasons are %v; want one that says %q", w.Reasons, text)
			}
			s.settle(Settled)
			if tt.verdict == Recreate {
				return // who goes first, an old pod or one that is to go, is not told
			}
			after := s.members()
			gone := slices.DeleteFunc(before, func(name string) bool { return slices.Contains(after, name) })
			if !reflect.DeepEqual(gone, named) {
				t.Errorf("%v are gone; the plan named %v", gone, named)
			}
		})
	}
}

func TestAPlanNamesNoPodThatStays(t *testing.T) {
	surging := hosting(t, func(s *Settings) { s.MaxSurge = &Amount{Value: 1} })
	for _, tt := range []struct {
		name   string
		from   Manifest
		edits  []edit
		scaler string
		told   []string // the reasons of rule replicas
		fields []string
	}{
		{"more are wanted", workload(t, "Deployment"), []edit{replicas(6)}, "", []string{"2 more are made"}, nil},
		{"of a StatefulSet, too", workload(t, "StatefulSet"), []edit{replicas(5)}, "", []string{"1 more are made"}, nil},
		{"an autoscaler has the number", workload(t, "Deployment"), []edit{replicas(1)}, "horizontalpodautoscaler/web", nil, nil},
		{"another field", workload(t, "Deployment"), []edit{set1(int64(7), "spec", "minReadySeconds")}, "", nil, []string{"spec.minReadySeconds"}},
		{"pods are made anew beside a surge", surging, []edit{env("other")}, "", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStory(t, tt.from, replicas(4))
			s.settle(Settled)
			before := s.uids()
			s.change(tt.edits...)
			for range 12 {
				snap := s.snapshot(s.commit, s.catchUpAll("situ"))
				if tt.scaler != "" {
					snap.Autoscalers = map[Ref]string{s.commit.Manifests[0].Ref: tt.scaler}
				}
				s.plan = Decide(s.commit, snap)
				w := s.plan.Workloads[0]
				for _, name := range removals(w) {
					if _, old := before[name]; old || tt.from.Hosting == nil { // what a surge has made may be too many in the end
						t.Fatalf("the plan removes %s:\n%s", name, planText(t, s.plan))
					}
				}
				var told []string
				for _, reason := range w.Reasons {
					if reason.Rule == "replicas" {
						told = append(told, reason.Text)
					}
				}
				if len(w.Steps) > 0 && tt.name != "pods are made anew beside a surge" && (!reflect.DeepEqual(told, tt.told) || !reflect.DeepEqual(w.Fields, tt.fields)) {
					t.Errorf("the plan tells %q and updates %q; want %q and %q", told, w.Fields, tt.told, tt.fields)
				}
				if tt.scaler != "" {
					return
				}
				for _, pod := range w.Pods {
					s.allow[pod.UID] = s.allow[pod.UID] || (pod.Verb == Recreate || pod.Verb == Remove) && pod.Turn > 0
				}
				s.carryOut(w.Steps)
				s.tick()
			}
		})
	}
}

// The order of a ReplicaSet's controller among pods that are not alike.
func TestTheControllersChoiceIsForeseen(t *testing.T) {
	for _, tt := range []struct {
		name string
		mark func(pod *corev1.Pod)
	}{
		{"not ready", makeUnready},
		{"of the lowest cost", func(pod *corev1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.PodDeletionCost, "-7") }},
		{"restarted more often", func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].RestartCount = 9 }},
		{"not scheduled", func(pod *corev1.Pod) { makeUnready(pod); pod.Spec.NodeName = "" }},
		{"on a node with another one", func(pod *corev1.Pod) { pod.Spec.NodeName = "node-of-two" }},
	} {
		for chosen := range 4 {
			s := newStory(t, workload(t, "Deployment"), replicas(4))
			s.settle(Settled)
			name := s.members()[chosen]
			for i, other := range s.members() {
				pod := s.pods[other].DeepCopy()
				pod.Spec.NodeName, pod.CreationTimestamp = fmt.Sprintf("node-%d", i), metav1.NewTime(s.now)
				for i := range pod.Status.Conditions {
					pod.Status.Conditions[i].LastTransitionTime = metav1.NewTime(s.now)
				}
				if other == name {
					tt.mark(pod)
				}
				if i == (chosen+1)%4 && pod.Spec.NodeName != "" && tt.name == "on a node with another one" {
					pod.Spec.NodeName = "node-of-two"
					metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.PodDeletionCost, "0")
				}
				s.pods[other] = pod
			}
			s.change(replicas(3))
			s.catchUpAll("situ")
			s.plan = Decide(s.commit, s.snapshot(s.commit, s.cache("situ")))
			got := removals(s.plan.Workloads[0])
			want := []string{name}
			if tt.name == "on a node with another one" && len(got) == 1 && got[0] == s.members()[(chosen+1)%4] {
				continue // the two are alike
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v goes, want the one that is %s, %v", got, tt.name, want)
			}
		}
	}
}

// A StatefulSet's pods go by their ordinals, of which others may be wanted.
func TestPodsWhoseOrdinalsAreNotWantedGo(t *testing.T) {
	for _, tt := range []struct {
		name  string
		edits []edit
		want  []string
	}{
		{"fewer", []edit{replicas(2)}, []string{"web-2", "web-3"}},
		{"fewer, and others", []edit{replicas(2), set1(int64(2), "spec", "ordinals", "start")}, []string{"web-0", "web-1"}},
		{"as many, and others", []edit{set1(int64(2), "spec", "ordinals", "start")}, []string{"web-0", "web-1"}},
		{"more", []edit{replicas(6)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStory(t, workload(t, "StatefulSet"), replicas(4))
			s.settle(Settled)
			s.change(tt.edits...)
			s.catchUpAll("situ")
			s.decide()
			if got := removals(s.plan.Workloads[0]); !slices.Equal(got, tt.want) {
				t.Errorf("%v go, want %v", got, tt.want)
			}
		})
	}
}

// What OpenKruise was told to delete goes first, and reserved ordinals are none.
func TestPodsThatOpenKruiseIsToldToDeleteGoFirst(t *testing.T) {
	set := kruiseSet("app:v1", nil)
	numbered := kruiseManifest("StatefulSet", map[string]any{"replicas": int64(4), "template": kruiseTemplate("app:v1")})
	for _, tt := range []struct {
		name    string
		from    Manifest
		edits   []edit
		labeled int
		want    []string
	}{
		{"named in Git", set, []edit{replicas(3), set1([]any{"harbor-2"}, "spec", "scaleStrategy", "podsToDelete")}, -1, []string{"harbor-2"}},
		{"labelled", set, []edit{replicas(3)}, 1, []string{"harbor-1"}},
		{"the last ordinal", numbered, []edit{replicas(3)}, -1, []string{"harbor-3"}},
		{"a reserved one", numbered, []edit{replicas(3), set1([]any{int64(1)}, "spec", "reserveOrdinals")}, -1, []string{"harbor-1"}},
		{"a reserved range", numbered, []edit{set1([]any{"0-1"}, "spec", "reserveOrdinals")}, -1, []string{"harbor-0", "harbor-1"}},
		{"a spoilt range", numbered, []edit{replicas(3), set1([]any{"x-", "2-1", "-"}, "spec", "reserveOrdinals")}, -1, []string{"harbor-3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			to := edited(tt.from, tt.edits...)
			snap := kruised(tt.from, to, 4)
			if tt.labeled >= 0 {
				snap.Pods["set"][tt.labeled].Labels[LabelDelete] = "true"
			}
			if got := removals(Decide(Commit{ID: "c", Manifests: []Manifest{to}}, snap).Workloads[0]); !slices.Equal(got, tt.want) {
				t.Errorf("%v go, want %v", got, tt.want)
			}
		})
	}
}

// Two go, and only one of them was asked for.
func TestAPodThatIsAskedForGoesWithAnother(t *testing.T) {
	for chosen := range 4 {
		s := newStory(t, hosting(t, func(*Settings) {}), replicas(4))
		s.settle(Settled)
		s.now = s.now.Add(time.Hour)
		name := s.members()[chosen]
		s.asking(deleting(name), replicas(2))
		for len(s.members()) == 4 {
			s.catchUpAll("situ")
			s.round()
			if got := removals(s.plan.Workloads[0]); len(got) != 2 || !slices.Contains(got, name) {
				t.Fatalf("%v go, want two with %s", got, name)
			}
			s.tick()
		}
	}
}

// None is wanted: an image that no node can pull keeps nothing running.
func TestNoPodsAreWantedOfAnImageThatIsMissing(t *testing.T) {
	for name, m := range map[string]Manifest{
		"Deployment": workload(t, "Deployment"), "StatefulSet": workload(t, "StatefulSet"), "CloneSet": hosting(t, func(*Settings) {}),
		"CloneSet with a partition": hosting(t, func(s *Settings) { s.Partition = &Amount{Value: 3} }),
	} {
		s := newStory(t, m, replicas(4))
		s.settle(Settled)
		s.change(replicas(0), image(0, "app:missing"))
		s.settle(Settled)
		if left := s.members(); len(left) > 0 {
			t.Errorf("%s: pods %v are left", name, left)
		}
	}
}

// Without a cluster, too: what a pull request does to the number of pods.
func TestFewerPodsAreToldWithoutACluster(t *testing.T) {
	for _, kind := range []string{"Deployment", "StatefulSet", "ReplicaSet"} {
		from, to := edited(workload(t, kind), replicas(9)), edited(workload(t, kind), replicas(3))
		plan := Decide(Commit{ID: "c", Manifests: []Manifest{to}}, Assume([]Manifest{from}, []Manifest{to}))
		if got := removals(plan.Workloads[0]); len(got) != 6 || plan.Workloads[0].Verdict != Remove {
			t.Errorf("%s: %v go, and the verdict is %s; want 6 pods and remove", kind, got, plan.Workloads[0].Verdict)
		}
	}
}

func turnOf(w WorkloadPlan, name string) int {
	for _, pod := range w.Pods {
		if pod.Name == name {
			return pod.Turn
		}
	}
	return -1
}
