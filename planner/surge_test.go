package planner

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func surging(surge string, maxUnavailable int) func(*Settings) {
	return func(s *Settings) {
		amount, _ := ParseAmount(surge)
		s.MaxSurge, s.MaxUnavailable = &amount, &Amount{Value: maxUnavailable}
	}
}

// crowd counts the most pods that there were at a time.
func (s *story) crowd() *int {
	most := 0
	s.others = append(s.others, func() { most = max(most, len(s.members())) })
	return &most
}

// made counts the pods that are there or were, but for those of before.
func (s *story) madeSince(before map[string]types.UID) int {
	made := map[types.UID]bool{}
	for _, uid := range s.uids() {
		made[uid] = true
	}
	for _, pod := range s.gone {
		made[pod.uid] = !strings.HasPrefix(pod.name, pullPrefix)
	}
	maps.DeleteFunc(made, func(_ types.UID, workloads bool) bool { return !workloads })
	for _, uid := range before {
		delete(made, uid)
	}
	return len(made)
}

func (s *story) replicasNow() int {
	return numberAt(s.objects[s.commit.Manifests[0].Ref].Object, -1, "spec", "replicas")
}

func TestASurgeBringsNewPodsFirstAndEndsAtWhatGitWants(t *testing.T) {
	for surge, most := range map[string]int{"1": 5, "2": 6, "50%": 6, "30%": 6, "100%": 8} {
		t.Run(surge, func(t *testing.T) {
			s := newStory(t, hosting(t, surging(surge, 0)))
			s.settle(Settled)
			before := s.uids()
			crowd := s.crowd()
			s.room = 0
			s.change(env("debug"))
			s.settle(Settled)
			s.allNewSince(before)
			if *crowd != most {
				t.Errorf("there were %d pods at most, want %d", *crowd, most)
			}
			if got := s.madeSince(before); got != 4 || s.replicasNow() != 4 {
				t.Errorf("%d pods were made and there are %d replicas, want 4 and 4", got, s.replicasNow())
			}
		})
	}
}

func TestAnImageAloneNeverSurges(t *testing.T) {
	s := newStory(t, hosting(t, surging("2", 1)))
	s.settle(Settled)
	before := s.uids()
	crowd := s.crowd()
	s.room = 1
	s.change(image(0, "app:v2"))
	s.settle(Settled)
	s.sameSince(before)
	if *crowd != 4 {
		t.Errorf("there were %d pods, want 4", *crowd)
	}
}

func TestNoSurgeWhereTheReplicasAreNotGits(t *testing.T) {
	ask := func(s *Settings) { surging("1", 1)(s) }
	s := newStory(t, hosting(t, ask), func(o map[string]any) { delete(mapAt(o, "spec"), "replicas") })
	s.settle(Settled)
	s.store(with(s.objects[s.commit.Manifests[0].Ref].Object, int64(3), "spec", "replicas"))
	s.settle(Settled)
	before := s.uids()
	crowd := s.crowd()
	s.change(env("debug"))
	s.decide()
	if text := s.plan.Workloads[0].Budget.Text; !strings.Contains(text, "no surge, since the replicas are not Git's") {
		t.Errorf("the budget says %q", text)
	}
	s.settle(Settled)
	s.allNewSince(before)
	if *crowd > 3 || s.replicasNow() != 3 {
		t.Errorf("there were %d pods and are %d replicas, want 3", *crowd, s.replicasNow())
	}
}

func TestAPauseEndsASurge(t *testing.T) {
	s := newStory(t, hosting(t, surging("1", 0)))
	s.settle(Settled)
	s.room = 0
	s.change(env("debug"))
	for s.replicasNow() == 4 {
		s.rounds(1)
	}
	m := s.commit.Manifests[0]
	paused := *m.Hosting
	paused.Settings.Paused = true
	m.Hosting = &paused
	s.push(m)
	s.settle(Held)
	if got := len(s.members()); got != 4 || s.replicasNow() != 4 {
		t.Errorf("%d pods and %d replicas while paused, want 4", got, s.replicasNow())
	}
}

func TestABrokenSuccessorCostsNobody(t *testing.T) {
	s := newStory(t, hosting(t, surging("2", 0)))
	s.settle(Settled)
	before := s.uids()
	s.room = 0
	s.change(env("debug"), image(0, "app:missing"))
	s.settle(Failed)
	if left := s.left(before); len(left) != 4 {
		t.Errorf("pods %v are left, want all", left)
	}
	s.change(image(0, "app:v2"))
	s.settle(Settled)
	s.allNewSince(before)
	if s.replicasNow() != 4 || len(s.members()) != 4 {
		t.Errorf("%d replicas and %d pods, want 4", s.replicasNow(), len(s.members()))
	}
}

func TestASecondCommitInTheMiddleOfASurgeEndsAtWhatGitWants(t *testing.T) {
	for rounds := range 20 {
		s := newStory(t, hosting(t, surging("2", 0)))
		s.settle(Settled)
		s.room = 0
		s.change(env("debug"))
		s.rounds(rounds)
		switch rounds % 3 {
		case 0: // back
			s.change(func(o map[string]any) { delete(containers(o)[0].(map[string]any), "env") })
		case 1:
			s.change(env("trace"), set1(int64(6), "spec", "replicas"))
			s.room = -1
		case 2:
			s.change(env("trace"), set1(int64(2), "spec", "replicas"))
		}
		s.settle(Settled)
		if want := numberAt(s.commit.Manifests[0].Object, 0, "spec", "replicas"); s.replicasNow() != want || len(s.members()) != want {
			t.Errorf("after %d rounds: %d replicas, %d pods, want %d", rounds, s.replicasNow(), len(s.members()), want)
		}
	}
}

// A crash after any action of a surge loses nothing: neither a pod nor the way back.
func TestASurgeGoesOnAfterACrashAtAnyAction(t *testing.T) {
	for n := 0; ; n++ {
		s := newStory(t, hosting(t, surging("1", 0)))
		s.settle(Settled)
		before := s.uids()
		s.room = 0
		s.change(env("debug"))
		whole := s.crashAfter(n)
		s.settle(Settled)
		s.allNewSince(before)
		if got := s.madeSince(before); got != 4 || s.replicasNow() != 4 {
			t.Errorf("crash after %d actions: %d pods were made and there are %d replicas, want 4 and 4", n, got, s.replicasNow())
		}
		if whole {
			t.Logf("%d actions", n)
			return
		}
	}
}

// crashAfter carries out n actions of a commit, and then forgets the rest of the
// round. It reports whether the commit had no more.
func (s *story) crashAfter(n int) (whole bool) {
	left := n
	for range 120 {
		s.tick()
		s.catchUpAll("situ")
		s.decide()
		for _, w := range s.plan.Workloads {
			for _, step := range w.Steps {
				for i := range step {
					if left == 0 {
						return false
					}
					left--
					s.carryOut([]Step{step[i : i+1]})
				}
			}
		}
		if s.plan.State == Settled {
			return true
		}
	}
	s.t.Fatal("the commit never settles")
	return true
}

func TestNoOrderOfEventsLeavesASurgeBehind(t *testing.T) {
	for seed := range *races {
		s := newStory(t, hosting(t, surging("50%", 1)))
		s.settle(Settled)
		random := rand.New(rand.NewPCG(seed, 3))
		for i := range 4 {
			s.change(env(fmt.Sprint(i)), set1(int64(3+i%2), "spec", "replicas"))
			s.race(random, random.IntN(200))
		}
		s.settle(Settled)
		if s.replicasNow() != 4 || len(s.members()) != 4 {
			t.Errorf("seed %d: %d replicas and %d pods, want 4", seed, s.replicasNow(), len(s.members()))
		}
	}
}

// All of it at once: whatever happens in whatever order, it ends at what Git wants.
func TestNoOrderOfSurgesHooksAndNamedPodsIsStuck(t *testing.T) {
	for seed := range *races {
		random := rand.New(rand.NewPCG(seed, 5))
		s := newStory(t, hosting(t, func(s *Settings) {
			hookedByLabel(s)
			surging("50%", 1)(s)
			s.Hooks.BeforeDelete = &Hook{Labels: map[string]string{drain: "wait"}, NotReady: true}
		}, withLabel, withGate))
		s.settle(Settled)
		s.others = append(s.others, s.playHooks)
		for range 6 {
			edits := []edit{set1(int64(2+random.IntN(4)), "spec", "replicas")}
			switch random.IntN(3) {
			case 0:
				edits = append(edits, env(fmt.Sprint(random.IntN(3))))
			case 1:
				edits = append(edits, somePatch(random))
			}
			names := s.members()
			s.asking(func(settings *Settings) {
				settings.Delete = nil
				if len(names) > 0 && random.IntN(2) == 0 {
					settings.Delete = names[:1]
				}
				settings.Partition = &Amount{Value: random.IntN(2)}
			}, edits...)
			s.race(random, random.IntN(150))
			s.playHooks()
			s.race(random, random.IntN(150))
		}
		s.asking(func(settings *Settings) { settings.Partition, settings.Delete = nil, nil }, set1(int64(3), "spec", "replicas"))
		s.settle(Settled)
		if s.replicasNow() != 3 || len(s.members()) != 3 {
			t.Errorf("seed %d: %d replicas and %d pods, want 3", seed, s.replicasNow(), len(s.members()))
		}
		for _, name := range s.members() {
			if pod := s.pods[name]; stageOf(pod) != stageNormal || leaves(pod) {
				t.Errorf("seed %d: pod %s is %s, marked: %t; want it normal", seed, name, stageOf(pod), leaves(pod))
			}
		}
	}
}
