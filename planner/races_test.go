package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// races is how many random orders each story below is told in.
const races = 50

// onEachRace runs a story on every kind, many times, from settled pods.
func onEachRace(t *testing.T, tell func(s *story, random *rand.Rand), edits ...edit) {
	for _, kind := range workloadKinds {
		for seed := range uint64(races) {
			t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
				s := newStory(t, workload(t, kind), edits...)
				s.noPull = seed%2 == 0
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

// Whatever happens, a pod goes only if some plan said so; the world fails if not.
func TestNoOrderOfEventsRecreatesAPodThatNoPlanNamed(t *testing.T) {
	onEachRace(t, func(s *story, random *rand.Rand) {
		for range 4 {
			s.change(someEdit(random))
			s.race(random, random.IntN(200))
			if pods := s.members(); len(pods) > 0 && random.IntN(2) == 0 {
				s.lose(pods[random.IntN(len(pods))])
			}
		}
		s.settle(Settled)
	})
}

func someEdit(random *rand.Rand) edit {
	switch random.IntN(4) {
	case 0:
		return image(0, fmt.Sprintf("app:v%d", random.IntN(3)))
	case 1:
		return image(1, fmt.Sprintf("tail:v%d", random.IntN(3)))
	case 2:
		return podAnnotation("config", fmt.Sprint(random.IntN(3)))
	default:
		return env(fmt.Sprint(random.IntN(3)))
	}
}
