package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// kept is a ReplicaSet of four whose update to app:v2 is held by a partition.
func keptStory(t *testing.T, partition string, edits ...edit) *story {
	s := newStory(t, workload(t, "ReplicaSet"), edits...)
	s.settle(Settled)
	s.change(image(0, "app:v2"), annotate(AnnotationPartition, partition))
	return s
}

var recreates = annotate(AnnotationUpdate, string(ReCreate))

// someOf is the name of a pod that runs an image.
func (s *story) someOf(image string) string {
	for _, name := range s.members() {
		if s.pods[name].Spec.Containers[0].Image == image {
			return name
		}
	}
	return ""
}

func (s *story) runs(old, new int) {
	s.t.Helper()
	if o, n := s.updatedPods("app:v1"), s.updatedPods("app:v2"); o != old || n != new {
		s.t.Fatalf("%d pods run app:v1 and %d app:v2, want %d and %d\n%s\n%s", o, n, old, new, planText(s.t, s.plan), s.describe())
	}
}

func TestPartitionIsKeptWhilePodsDie(t *testing.T) {
	for name, edits := range map[string][]edit{"in place": nil, "anew": {recreates}} {
		t.Run(name, func(t *testing.T) {
			s := keptStory(t, "2", edits...)
			s.settle(Held)
			s.runs(2, 2)
			for _, lost := range [][]string{{"app:v1"}, {"app:v2"}, {"app:v2", "app:v2"}, {"app:v1", "app:v1"}, {"app:v1", "app:v2", "app:v1", "app:v2"}} {
				for _, image := range lost {
					s.lose(s.someOf(image))
				}
				s.settle(Held)
				s.runs(2, 2)
			}
			s.change(annotate(AnnotationPartition, "0"))
			s.settle(Settled)
			s.runs(0, 4)
			if live := s.objects[s.commit.Manifests[0].Ref]; live.GetAnnotations()[AnnotationKeptRevision] != "" {
				t.Errorf("annotations are %v: nothing is kept any more", live.GetAnnotations())
			}
		})
	}
}

func TestPartitionIsKeptWhenPodsDieInTheMiddle(t *testing.T) {
	for name, edits := range map[string][]edit{"in place": nil, "anew": {recreates}} {
		for rounds := range 8 {
			for _, image := range []string{"app:v1", "app:v2"} {
				t.Run(fmt.Sprintf("%s, %s after %d rounds", name, image, rounds), func(t *testing.T) {
					s := keptStory(t, "2", edits...)
					s.rounds(rounds)
					if pod := s.someOf(image); pod != "" {
						s.lose(pod)
					}
					s.settle(Held)
					s.runs(2, 2)
				})
			}
		}
	}
}

func TestPartitionKeepsTheTemplateOfBeforeItThroughManyCommits(t *testing.T) {
	for name, edits := range map[string][]edit{"in place": nil, "anew": {recreates}} {
		for rounds := range 6 {
			t.Run(fmt.Sprintf("%s, after %d rounds", name, rounds), func(t *testing.T) {
				s := keptStory(t, "2", edits...)
				s.rounds(rounds)
				s.change(image(0, "app:v3"))
				s.settle(Held)
				s.lose(s.someOf("app:v3"))
				for s.updatedPods("app:v1") > 0 {
					s.lose(s.someOf("app:v1"))
				}
				s.settle(Held)
				if old, new := s.updatedPods("app:v1"), s.updatedPods("app:v3"); old != 2 || new != 2 {
					t.Fatalf("%d pods run app:v1 and %d app:v3, want two of each\n%s", old, new, s.describe())
				}
				s.change(image(0, "app:v1"))
				s.settle(Settled)
				s.runs(4, 0)
			})
		}
	}
}

func TestNoOrderOfEventsCostsAPartitionItsPods(t *testing.T) {
	for seed := range *races * 4 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 11))
			s := keptStory(t, "2")
			before := s.uids()
			s.room = -1
			for range 6 {
				s.race(random, random.IntN(200))
				if pods := s.members(); len(pods) > 0 {
					lost := pods[random.IntN(len(pods))]
					delete(before, lost)
					s.lose(lost)
				}
			}
			s.settle(Held)
			s.runs(2, 2)
			for name, uid := range before {
				if s.uids()[name] != uid {
					t.Errorf("pod %s was recreated", name)
				}
			}
		})
	}
}

func TestAPartitionOfEverythingMakesOldPodsOnly(t *testing.T) {
	s := keptStory(t, "100%", recreates)
	s.settle(Held)
	s.change(set1(int64(6), "spec", "replicas"))
	s.lose(s.someOf("app:v1"))
	s.settle(Held)
	s.runs(6, 0)
}

func TestAPausedWorkloadScalesWithNewPods(t *testing.T) {
	for partition, want := range map[string][2]int{"0": {4, 2}, "3": {4, 2}, "5": {6, 0}} { // one write, one template: rather too many old ones
		s := keptStory(t, partition, recreates)
		s.change(set1(int64(6), "spec", "replicas"))
		paused := s.commit.Manifests[0]
		paused.Hosting = &Hosting{Ref: paused.Ref, Settings: Settings{Paused: true, Deadline: DefaultDeadline}}
		s.push(paused)
		before := s.uids()
		s.settle(Held)
		for name, uid := range before {
			if s.uids()[name] != uid {
				t.Errorf("pod %s was recreated while its workload is paused", name)
			}
		}
		s.runs(want[0], want[1])
	}
}

func TestOnDeleteWaitsForSomebodyToDelete(t *testing.T) {
	s := newStory(t, workload(t, "ReplicaSet"))
	s.settle(Settled)
	m := edited(s.commit.Manifests[0], image(0, "app:v2"))
	m.Hosting = &Hosting{Ref: m.Ref, Settings: Settings{OnDelete: true, Update: ReCreate, Deadline: DefaultDeadline}}
	s.push(m)
	s.settle(Held)
	s.runs(4, 0)
	s.lose(s.someOf("app:v1"))
	s.settle(Held)
	s.runs(3, 1)
	if text := s.plan.Workloads[0].Text; text != "3 pods kept until somebody deletes them" {
		t.Errorf("the plan says %q", text)
	}
	for s.someOf("app:v1") != "" {
		s.lose(s.someOf("app:v1"))
	}
	s.settle(Settled)
	s.runs(0, 4)
}

func TestNoOrderOfEventsLosesAPartitionThatMakesPodsAnew(t *testing.T) {
	for seed := range *races * 4 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 13))
			s := keptStory(t, "2", recreates)
			for range 6 {
				s.race(random, random.IntN(200))
				if pods := s.members(); len(pods) > 0 && random.IntN(2) == 0 {
					s.lose(pods[random.IntN(len(pods))])
				}
			}
			s.settle(Held)
			t.Logf("%d old, %d new, %d pods went", s.updatedPods("app:v1"), s.updatedPods("app:v2"), len(s.gone))
			s.change(annotate(AnnotationPartition, "0"))
			s.race(random, random.IntN(200))
			s.settle(Settled)
			s.runs(0, 4)
		})
	}
}

// Whatever is committed in between, and whoever dies: lowered to nothing, a
// partition leaves nothing behind.
func TestNoOrderOfPartitionsIsStuck(t *testing.T) {
	for seed := range *races * 4 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 17))
			s := newStory(t, workload(t, "ReplicaSet"))
			s.settle(Settled)
			for range 8 {
				edits := []edit{annotate(AnnotationPartition, fmt.Sprint(random.IntN(6))), somePatch(random)}
				switch random.IntN(5) {
				case 0:
					edits = append(edits, env(fmt.Sprint(random.IntN(3))))
				case 1:
					edits = append(edits, set1(int64(1+random.IntN(6)), "spec", "replicas"))
				case 2:
					edits = append(edits, annotate(AnnotationUpdate, []string{"ReCreate", "InPlaceIfPossible"}[random.IntN(2)]))
				}
				s.change(edits...)
				s.race(random, random.IntN(150))
				if pods := s.members(); len(pods) > 0 && random.IntN(2) == 0 {
					s.lose(pods[random.IntN(len(pods))])
				}
			}
			s.change(annotate(AnnotationPartition, "0"))
			s.settle(Settled)
			if live := s.objects[s.commit.Manifests[0].Ref]; live.GetAnnotations()[AnnotationKeptRevision] != "" {
				t.Errorf("annotations are %v: nothing is kept any more", live.GetAnnotations())
			}
		})
	}
}

func TestFewerPodsKeepThePartition(t *testing.T) {
	for name, edits := range map[string][]edit{"in place": nil, "anew": {recreates}} {
		for replicas, want := range map[int64][2]int{3: {2, 1}, 2: {2, 0}, 1: {1, 0}, 6: {2, 4}} {
			t.Run(fmt.Sprint(name, ", to ", replicas), func(t *testing.T) {
				s := newStory(t, hosting(t, func(*Settings) {}, edits...))
				s.settle(Settled)
				s.change(image(0, "app:v2"), annotate(AnnotationPartition, "2"))
				s.settle(Held)
				s.runs(2, 2)
				s.change(set1(replicas, "spec", "replicas"))
				s.settle(Held)
				s.runs(want[0], want[1])
			})
		}
	}
}

func TestPodsOfTheKeptTemplateAreTheOnesThatAreKept(t *testing.T) {
	s := keptStory(t, "2")
	s.settle(Held)
	before := s.uids()
	young := s.someOf("app:v1") // an old pod that is the youngest of all
	s.lose(young)
	delete(before, young)
	s.settle(Held)
	s.change(image(0, "app:v3"))
	s.settle(Held)
	if old, new := s.updatedPods("app:v1"), s.updatedPods("app:v3"); old != 2 || new != 2 {
		t.Errorf("%d pods run app:v1 and %d app:v3, want two of each", old, new)
	}
	for name, uid := range before {
		if s.uids()[name] != uid {
			t.Errorf("pod %s was recreated", name)
		}
	}
}

func TestAsManyTemplatesAreRememberedAsAreAskedFor(t *testing.T) {
	for limit, want := range map[int]int{0: 0, 2: 2, 10: 4} {
		s := newStory(t, hosting(t, func(asks *Settings) { asks.History = &limit }))
		s.settle(Settled)
		for i := range 4 {
			s.change(image(0, fmt.Sprintf("app:w%d", i)))
			s.settle(Settled)
		}
		if got := len(s.of("ControllerRevision")); got != want {
			t.Errorf("with a limit of %d, %d templates are remembered, want %d", limit, got, want)
		}
	}
}
