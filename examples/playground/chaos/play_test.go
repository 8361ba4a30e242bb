package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"situ.gitops/examples/playground/nodes"
)

// play runs the script from the first commit to the verdict.
func (s *stage) play() error {
	if err := s.live(fault{}); err != nil {
		return err
	}
	if err := s.commit(s.wish(), "first"); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return err
	}
	for _, step := range s.script.steps {
		_, before := s.ledger.counts()
		if err := s.act(step); err != nil {
			return fmt.Errorf("step %s: %w", step, err)
		}
		s.wait(func() bool {
			_, now := s.ledger.counts()
			return now-before >= step.pace || s.hasEnded()
		})
	}
	return s.end()
}

// wait waits for something that need not come.
func (s *stage) wait(done func() bool) {
	ctx, cancel := context.WithTimeout(s.ctx, stepTime)
	defer cancel()
	for !done() && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

// settle lets everything come to rest: the newest commit has ended well and all
// its pods serve. From then on the judge excuses nothing. A commit that cannot
// end well only ends.
func (s *stage) settle() error {
	if !s.canRest() {
		s.wait(s.hasEnded)
		return nil
	}
	return s.eventually("rest", func() error {
		if err := s.reached(); err != nil {
			return err
		}
		if err := s.forgiven(); err != nil {
			return err
		}
		if !s.judge.calm() {
			return errors.New("pods are missing, not ready or too many")
		}
		return nil
	})
}

// canRest says whether the newest commit can end well.
func (s *stage) canRest() bool { return s.wish().starts() && len(s.lost) == 0 }

// end makes everything whole, commits a last wish that can be fulfilled, and
// wants all promises kept.
func (s *stage) end() error {
	if err := s.bringBack(); err != nil {
		return err
	}
	s.nodes.SetDelay(nodes.Delay{})
	s.life.door.plan(func(f *fault, _ int) { *f = fault{} })
	s.gitDoor.plan(0)
	last := s.wish()
	last.app, last.side, last.tier, last.partition = "last", "last", "last", 0
	if err := s.commit(last, "last"); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return errors.Join(fmt.Errorf("promise 7: %w", err))
	}
	if err := s.eventually("the end of the pods that pull", s.noPulls); err != nil {
		return err
	}
	quiet := s.quiet()
	s.life.stop()
	return errors.Join(quiet, s.noted(), s.unharmed())
}
