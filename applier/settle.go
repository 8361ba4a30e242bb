package applier

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"situ.gitops/planner"
)

// The pace of rounds. A round follows a change at once, unless the last round
// has only just ended; then changes gather for a moment.
const (
	roundGap     = 20 * time.Millisecond  // between the end of a round and the next one
	changedDelay = 250 * time.Millisecond // after a plan that was overtaken, unless a change comes first; doubles
	quietDelay   = time.Second            // after actions that no change followed
)

// Settle runs rounds of one commit until it is settled, held or failed, or until
// the applier's patience with what it waits for has run out, and returns what
// there is to tell. It is woken by the cluster's changes and by
// the moments that plans name. progress is called after every round.
//
// If ctx ends first, the actions under way are finished, and the note comes
// with the cause of ctx. An error without the end of ctx means that the cluster
// could not be asked; the note then tells what had been done until then.
func (a *Applier) Settle(ctx context.Context, commit planner.Commit, progress func(Outcome)) (Note, error) {
	s := &settling{applier: a, retries: newRetries(), story: newStory(commit)}
	commit, err := s.resolve(ctx, commit)
	if err != nil {
		return s.story.note(s.story.last.State), err
	}
	for err == nil {
		var outcome Outcome
		outcome, err = s.round(ctx, commit)
		if err != nil {
			break
		}
		progress(outcome)
		if state, ended := s.ended(outcome); ended && ctx.Err() == nil {
			s.leave(ctx, outcome.Plan)
			return s.story.note(state), nil
		}
		err = s.wait(ctx, s.wake(outcome))
	}
	s.leave(ctx, s.planNow(ctx, commit))
	return s.story.note(s.story.last.State), err
}

// planNow is a plan that knows what the last round has made. Where it cannot be
// had, the last round's own must do.
func (s *settling) planNow(ctx context.Context, commit planner.Commit) planner.Plan {
	if !s.applier.Leaves {
		return s.story.last.Plan
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actionTimeout)
	defer cancel()
	if plan, err := s.applier.plan(ctx, commit); err == nil {
		return plan
	}
	return s.story.last.Plan
}

// leave does what a plan wants done if nobody goes on with it.
func (s *settling) leave(ctx context.Context, plan planner.Plan) {
	if !s.applier.Leaves {
		return
	}
	for _, workload := range plan.Workloads {
		for _, action := range workload.Cleanup {
			result := Result{Unit: workload.Ref, Action: action}
			s.applier.carryAction(ctx, &result, newCreations())
			if result.Status == Refused {
				s.applier.Log.WithField("object", action.Ref.String()).WithError(result.Err).Warn("left behind")
			}
		}
	}
}

// settling is one call of Settle.
type settling struct {
	applier   *Applier
	retries   *retries
	story     *story
	overtaken int       // rounds in a row with a plan that the cluster had overtaken
	free      time.Time // when the next round may begin
	idle      time.Time // since when nothing is left but to wait for others; zero: there is
}

// resolve resolves the commit, with retries.
func (s *settling) resolve(ctx context.Context, commit planner.Commit) (resolved planner.Commit, err error) {
	err = s.try(ctx, func() error {
		resolved, err = s.applier.Cluster.Resolve(ctx, commit)
		return err
	})
	if err != nil {
		return commit, fmt.Errorf("resolve the objects: %w", err)
	}
	return resolved, nil
}

// round is one round, tried again while the cluster cannot be asked.
func (s *settling) round(ctx context.Context, commit planner.Commit) (outcome Outcome, err error) {
	err = s.try(ctx, func() error {
		outcome, err = s.applier.round(ctx, commit, s.retries)
		return err
	})
	s.free = time.Now().Add(roundGap)
	if err != nil {
		return Outcome{}, err
	}
	s.retries.note(outcome.Results)
	s.story.add(outcome, s.retries)
	s.overtaken++
	if outcome.count(Changed) == 0 {
		s.overtaken = 0
	}
	return outcome, nil
}

// try calls what until it succeeds, at most maxTries times and with growing
// pauses. The end of ctx ends it with the cause of ctx.
func (s *settling) try(ctx context.Context, what func() error) error {
	for n := 1; ; n++ {
		err := what()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil || n == maxTries {
			return err
		}
		delay := backoff(n, firstDelay)
		s.applier.Log.WithFields(logrus.Fields{"try": n, "again_in": delay.String()}).WithError(err).Warn("cluster not available")
		if err := sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// ended says whether a round was the commit's last one, and the state it ends
// in: nothing is left to do, and nothing is to come but what a person must mend
// or what did not come for as long as the applier is patient.
func (s *settling) ended(outcome Outcome) (planner.State, bool) {
	state, still := s.still(outcome)
	if !still || state != planner.Waiting {
		s.idle = time.Time{}
	}
	switch {
	case !still:
		return state, false
	case state != planner.Waiting:
		return state, true
	case s.idle.IsZero():
		s.idle = time.Now()
	}
	return state, time.Since(s.idle) >= s.applier.patience()
}

// still says whether nothing moves any more, and the state of the whole then.
func (s *settling) still(outcome Outcome) (planner.State, bool) {
	state := outcome.State
	parts := partsOf(outcome.Plan)
	for _, part := range parts {
		switch {
		case s.retries.givenUp(part.ref) != nil:
			state = planner.Failed
		case part.steps > 0:
			return state, false
		case part.state == planner.Progressing:
			return state, false
		}
	}
	return state, state != planner.Progressing
}

// part is a workload or an object of a plan, as far as the pace needs it.
type part struct {
	ref   planner.Ref
	state planner.State
	steps int
}

func partsOf(plan planner.Plan) []part {
	var parts []part
	for _, object := range plan.Objects {
		parts = append(parts, part{object.Ref, object.State, len(object.Steps)})
	}
	for _, workload := range plan.Workloads {
		parts = append(parts, part{workload.Ref, workload.State, len(workload.Steps)})
	}
	return parts
}

// wake is when the next round is due though nothing changed; zero: never.
func (s *settling) wake(outcome Outcome) time.Time {
	wake := earliest(outcome.Plan.Wake, earliest(s.retries.next(outcome.Plan), s.applier.repeats.next(outcome.Plan)))
	if !s.idle.IsZero() {
		wake = earliest(wake, s.idle.Add(s.applier.patience()))
	}
	switch {
	case outcome.count(Changed) > 0:
		return earliest(wake, time.Now().Add(backoff(s.overtaken, changedDelay)))
	case outcome.count(Done) > 0:
		return earliest(wake, time.Now().Add(quietDelay))
	}
	return wake
}

// wait returns when a change or the moment has come and the next round may
// begin, or with the cause of ctx.
func (s *settling) wait(ctx context.Context, wake time.Time) error {
	var due <-chan time.Time
	if !wake.IsZero() {
		timer := time.NewTimer(time.Until(wake))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-s.applier.Cluster.Changes():
	case <-due:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return sleep(ctx, time.Until(s.free))
}

// sleep waits for d, or until ctx ends, with its cause.
func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
