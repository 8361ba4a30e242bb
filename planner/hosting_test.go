package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// asking is a workload that another kind hosts its pods on.
func asking(m Manifest, ask func(*Settings)) Manifest {
	settings := DefaultSettings()
	settings.Explicit = true
	ask(&settings)
	m.Hosting = &Hosting{Ref: Ref{APIVersion: "apps.kruise.io/v1beta1", Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}, Settings: settings}
	return m
}

// updated are the pods that run an image, as their names end.
func (s *story) updated(image string) []string {
	var names []string
	for _, name := range s.members() {
		if pod := s.pods[name]; pod.Spec.Containers[0].Image == image {
			names = append(names, name)
		}
	}
	return names
}

func TestPausedUpdatesKeepPodsButNotTheScale(t *testing.T) {
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		for rounds := range 6 {
			t.Run(kind, func(t *testing.T) {
				s := newStory(t, workload(t, kind))
				s.settle(Settled)
				before := s.uids()
				s.room = 1
				s.change(image(0, "app:v2"))
				s.rounds(rounds)
				s.push(asking(s.commit.Manifests[0], func(a *Settings) { a.Paused = true }))
				s.room = -1
				switch kind {
				case "StatefulSet":
					s.change(set1(int64(6), "spec", "replicas"))
				case "DaemonSet":
					s.nodes = append(s.nodes, "n4")
				}
				s.rounds(2)
				s.tick()
				already := s.updated("app:v2")
				s.rounds(20)
				if now := s.updated("app:v2"); !slices.Equal(now, already) {
					t.Errorf("paused, pods %v became %v", already, now)
				}
				s.room = 1
				s.push(asking(s.commit.Manifests[0], func(a *Settings) { a.Paused = false }))
				s.settle(Settled)
				for name, uid := range before {
					if now := s.uids(); now[name] != uid {
						t.Errorf("pod %s was recreated", name)
					}
				}
			})
		}
	}
}

func TestOnlyPodsOfChosenNodesAreUpdated(t *testing.T) {
	for _, update := range []UpdateType{InPlaceIfPossible, ReCreate} {
		t.Run(string(update), func(t *testing.T) {
			s := newStory(t, workload(t, "DaemonSet"))
			s.settle(Settled)
			s.room = 1
			choose := func(nodes ...string) func(*Settings) {
				return func(a *Settings) {
					a.Update = update
					a.Nodes = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "name", Operator: "In", Values: nodes}}}
				}
			}
			s.push(asking(s.commit.Manifests[0], choose("n1", "n3")))
			s.change(image(0, "app:v2"))
			s.settle(Held)
			var nodes []string
			for _, name := range s.updated("app:v2") {
				nodes = append(nodes, s.pods[name].Spec.NodeName)
			}
			if slices.Sort(nodes); !slices.Equal(nodes, []string{"n1", "n3"}) {
				t.Errorf("pods on %v are updated, want those on n1 and n3", nodes)
			}
			s.push(asking(s.commit.Manifests[0], func(a *Settings) { a.Update = update }))
			s.settle(Settled)
		})
	}
}

func TestAnyOrderKeepsACountOfPods(t *testing.T) {
	for _, update := range []UpdateType{InPlaceIfPossible, ReCreate} {
		t.Run(string(update), func(t *testing.T) {
			s := newStory(t, workload(t, "StatefulSet"), set1("Parallel", "spec", "podManagementPolicy"))
			s.settle(Settled)
			before := s.uids()
			s.room = 2
			keep := func(n int) func(*Settings) {
				return func(a *Settings) {
					a.Update, a.AnyOrder, a.Partition, a.MaxUnavailable = update, true, &Amount{Value: n}, &Amount{Value: 2}
				}
			}
			s.push(asking(s.commit.Manifests[0], keep(3)))
			s.change(image(0, "app:v2"))
			s.settle(Held)
			if got := s.updated("app:v2"); len(got) != 1 {
				t.Errorf("%v are updated, want one of four", got)
			}
			s.push(asking(s.commit.Manifests[0], keep(0)))
			s.settle(Settled)
			if update == InPlaceIfPossible {
				s.sameSince(before)
				s.restarted(0, 1)
			}
			live := s.objects[s.commit.Manifests[0].Ref]
			if got := textAt(live.Object, "spec", "updateStrategy", "type"); got == "OnDelete" {
				t.Errorf("settled, but the strategy is still %s", got)
			}
		})
	}
}

func TestOnDeleteLeavesTheMomentToPeople(t *testing.T) {
	s := newStory(t, workload(t, "StatefulSet"))
	s.settle(Settled)
	s.push(asking(s.commit.Manifests[0], func(a *Settings) { a.OnDelete, a.Explicit = true, false }))
	s.change(image(0, "app:v2"))
	s.settle(Held)
	if got := s.updated("app:v2"); len(got) > 0 {
		t.Errorf("%v are updated before anybody has deleted them", got)
	}
	for _, name := range []string{"web-0", "web-2"} {
		s.lose(name)
		s.settle(Held)
	}
	if got := s.updated("app:v2"); !slices.Equal(got, []string{"web-0", "web-2"}) {
		t.Errorf("%v are updated, want those that were deleted", got)
	}
	s.lose("web-1")
	s.lose("web-3")
	s.settle(Settled)
}

// TestAnyOrderMayComeAndGo: Git changes its mind in the middle.
func TestAnyOrderMayComeAndGo(t *testing.T) {
	for rounds := range 8 {
		s := newStory(t, workload(t, "StatefulSet"), set1("Parallel", "spec", "podManagementPolicy"))
		s.settle(Settled)
		before := s.uids()
		s.room = 1
		s.change(image(0, "app:v2"))
		s.rounds(rounds)
		s.push(asking(s.commit.Manifests[0], func(a *Settings) { a.AnyOrder = true }))
		s.rounds(rounds)
		s.push(asking(s.commit.Manifests[0], func(a *Settings) { a.AnyOrder = false }))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
	}
}

// hostedKinds are workloads whose hosts situ keeps off while it updates their pods.
func hostedKinds(t *testing.T) map[string]Manifest {
	parallel := edited(workload(t, "StatefulSet"), set1("Parallel", "spec", "podManagementPolicy"))
	return map[string]Manifest{
		"any order":    asking(parallel, func(a *Settings) { a.AnyOrder = true }),
		"by priority":  asking(parallel, func(a *Settings) { a.AnyOrder, a.Priority = true, Priority{Keys: []string{"app"}} }),
		"chosen nodes": asking(workload(t, "DaemonSet"), func(a *Settings) { a.Nodes = &metav1.LabelSelector{} }),
	}
}

func TestNoOrderOfEventsBreaksAHostedWorkload(t *testing.T) {
	for name, m := range hostedKinds(t) {
		for seed := range *races {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 11))
				s := newStory(t, m)
				s.settle(Settled)
				before := s.uids()
				s.room = 1
				s.change(image(0, "app:v2"))
				s.race(random, random.IntN(300))
				s.change(image(1, "tail:v2"), podAnnotation("config", "b"))
				s.race(random, random.IntN(300))
				s.settle(Settled)
				s.sameSince(before)
				s.restarted(0, 1)
				s.restarted(1, 1)

				if m.Kind == "DaemonSet" {
					s.room = -1 // its own controller rolls, on what its cache shows
				}
				s.change(env("debug"))
				s.race(random, 300)
				s.change(image(0, "app:v3"))
				s.settle(Settled)
			})
		}
	}
}

func TestAnOrderOfTheUsersOwnIsKept(t *testing.T) {
	for _, update := range []UpdateType{InPlaceIfPossible, ReCreate} {
		s := newStory(t, workload(t, "StatefulSet"), set1("Parallel", "spec", "podManagementPolicy"))
		s.settle(Settled)
		for i, name := range []string{"web-1", "web-3", "web-0", "web-2"} {
			pod := s.pods[name].DeepCopy()
			pod.Labels["rank"] = fmt.Sprint(9 - i)
			s.pods[name] = pod
		}
		s.room, s.meddled = 1, true
		s.push(asking(s.commit.Manifests[0], func(a *Settings) {
			a.Update, a.AnyOrder, a.Partition, a.Priority = update, true, &Amount{Value: 2}, Priority{Keys: []string{"rank"}}
		}))
		s.change(image(0, "app:v2"))
		s.settle(Held)
		if got := s.updated("app:v2"); !slices.Equal(got, []string{"web-1", "web-3"}) {
			t.Errorf("%s: %v are updated, want those with the highest ranks", update, got)
		}
	}
}

func TestAStatefulSetHasHooksAroundAnUpdateInPlace(t *testing.T) {
	for _, name := range union(hookKinds, nil) {
		for _, anyOrder := range []bool{false, true} {
			m := edited(workload(t, "StatefulSet"), append(slices.Clone(hookKinds[name].edit), set1("Parallel", "spec", "podManagementPolicy"))...)
			m = asking(m, func(a *Settings) { hookKinds[name].ask(a); a.AnyOrder = anyOrder })
			s := newStory(t, m)
			s.settle(Settled)
			before := s.uids()
			s.change(image(0, "app:v2"))
			waited := false
			for range 120 {
				s.rounds(1)
				waited = waited || len(s.at(stagePreparingUpdate)) > 0
				if waiting := s.at(stagePreparingUpdate); len(waiting) > 1 {
					t.Fatalf("%s: %v wait at the same time, want one", name, waiting)
				}
				s.playHooks()
			}
			s.settle(Settled)
			s.sameSince(before)
			s.restarted(0, 1)
			if hooked := name != "gate and nobody"; waited != hooked {
				t.Errorf("%s: a pod waited for its hook: %v, want %v", name, waited, hooked)
			}
		}
	}
}
