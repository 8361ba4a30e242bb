package planner

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
)

// races is how many random orders each story below is told in.
var races = flag.Uint64("races", 3, "random orders of events per story and kind")

// onEachRace runs a story on every kind, many times, from settled pods.
func onEachRace(t *testing.T, tell func(s *story, random *rand.Rand), edits ...edit) {
	for _, kind := range workloadKinds {
		for seed := range *races {
			t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
				s := newStory(t, workload(t, kind), edits...)
				s.pull = []PullPolicy{PullNever, PullAlways, PullIfAllowed}[seed%3]
				s.settle(Settled)
				tell(s, rand.New(rand.NewPCG(seed, 7)))
			})
		}
	}
}

func TestNoOrderOfEventsRecreatesAPodOrRestartsItTwice(t *testing.T) {
	onEachRace(t, func(s *story, random *rand.Rand) {
		before := s.uids()
		s.room = 1
		s.change(image(0, "app:v2"))
		s.race(random, 400)
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
		s.restarted(1, 0)
	})
}

func TestNoOrderOfEventsLosesASecondCommit(t *testing.T) {
	onEachRace(t, func(s *story, random *rand.Rand) {
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
	})
}

func TestNoOrderOfEventsLosesARevert(t *testing.T) {
	onEachRace(t, func(s *story, random *rand.Rand) {
		before := s.uids()
		s.room = 1
		s.change(image(0, "app:v2"))
		s.race(random, random.IntN(300))
		s.change(image(0, "app:v1"))
		s.race(random, random.IntN(300))
		s.settle(Settled)
		s.sameSince(before)
		s.restartedAtMost(0, 2)
	})
}

// Images and annotations alone never cost a pod, whatever else happens to it.
func TestNoOrderOfEventsRecreatesAPodForWhatCanBePatched(t *testing.T) {
	onEachRace(t, func(s *story, random *rand.Rand) {
		for range 4 {
			s.change(somePatch(random))
			s.race(random, random.IntN(200))
			if pods := s.members(); len(pods) > 0 && random.IntN(2) == 0 {
				s.lose(pods[random.IntN(len(pods))])
			}
		}
		s.settle(Settled)
	})
}

// With recreations in between, hosts roll by themselves: a pod that no plan has
// known yet may go with the others, but only for what a new pod alone can have.
func TestNoOrderOfCommitsIsStuckOrRecreatesForWhatCanBePatched(t *testing.T) {
	onEachRace(t, func(s *story, random *rand.Rand) {
		s.excuse = s.newAndOutdated
		for range 5 {
			if random.IntN(2) == 0 {
				s.change(env(fmt.Sprint(random.IntN(3))))
			} else {
				s.change(somePatch(random))
			}
			s.race(random, random.IntN(200))
		}
		s.settle(Settled)
	})
}

func somePatch(random *rand.Rand) edit {
	switch random.IntN(3) {
	case 0:
		return image(0, fmt.Sprintf("app:v%d", random.IntN(3)))
	case 1:
		return image(1, fmt.Sprintf("tail:v%d", random.IntN(3)))
	default:
		return podAnnotation("config", fmt.Sprint(random.IntN(3)))
	}
}
