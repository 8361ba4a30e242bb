package bench

import (
	"context"
	"fmt"
	"time"

	"situ.gitops/examples/playground/gitserver"
)

// rounds is how many polls a settled source is watched for.
const rounds = 10

// settled measures what a source costs that has nothing new.
func (b *bench) settled(ctx context.Context, repository *gitserver.Repository, f fleet) error {
	head, err := repository.Git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	serve, err := b.follow(ctx, f.namespace)
	if err != nil {
		return err
	}
	defer serve.close()
	if _, _, err := serve.settled(ctx, head); err != nil {
		return err
	}
	// The first polls belong to what came before: a note may still be written.
	before, err := b.polled(ctx, serve, 2)
	if err != nil {
		return err
	}
	b.say("%s: nothing new for %d polls ...", f.namespace, rounds)
	after, err := b.polled(ctx, serve, rounds)
	if err != nil {
		return err
	}
	b.report.settled(after.since(before))
	return nil
}

// polled waits until situ has asked the repository n more times.
func (b *bench) polled(ctx context.Context, serve *follower, n int64) (count, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("situ has not asked %d times within %s", n, patience))
	defer cancel()
	for enough := b.ground.git.polls.Load() + n; b.ground.git.polls.Load() < enough; {
		select {
		case <-ctx.Done():
			return count{}, context.Cause(ctx)
		case <-serve.ended:
			return count{}, serve.failure("situ serve ended")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return b.count(ctx, serve)
}
