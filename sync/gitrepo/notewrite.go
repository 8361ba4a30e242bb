package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

func (n *notebook) write(ctx context.Context, commit string, merge func([]byte) []byte) error {
	if err := n.check(commit); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	for attempt := range maxWrites {
		if attempt > 0 {
			n.seen = false
			if err := pause(ctx, attempt); err != nil {
				return explain("write "+n.ref.String()+" to", n.sink, err)
			}
		}
		if err = n.attempt(ctx, commit, merge); !errors.Is(err, errMoved) {
			break
		}
	}
	if err == nil {
		return nil
	}
	n.seen = false // whatever happened, ask before trusting the tip again
	if errors.Is(err, errMoved) {
		return failf(nil, "write %s to %s: others moved it during each of %d attempts; is a second instance running for this cluster?", n.ref, n.sink.name(), maxWrites)
	}
	return explainPush("write "+n.ref.String()+" to", n.sink, err)
}

// attempt makes one note commit on top of the tip and offers it.
func (n *notebook) attempt(ctx context.Context, commit string, merge func([]byte) []byte) error {
	if !n.seen {
		if err := n.refresh(ctx); err != nil {
			return explain("read "+n.ref.String()+" of", n.source, err)
		}
	}
	current, err := n.current(commit)
	if err != nil {
		return err
	}
	next := merge(current)
	if string(next) == string(current) {
		return nil
	}
	c, err := n.compose(commit, next)
	if err != nil {
		return fmt.Errorf("compose note: %w", err)
	}
	err = within(ctx, n.opts.Timeout, func(ctx context.Context) error { return push(ctx, n.sink, c) })
	if errors.Is(err, errAbandoned) {
		n.store = newMemoryStore()
	}
	if err != nil {
		return err
	}
	n.tip = c.new
	n.store.packs++
	return n.settle(ctx)
}

// settle records the new tip and, once in a while, drops the states before.
func (n *notebook) settle(ctx context.Context) error {
	if _, err := n.store.verify(ctx, n.tip); err != nil {
		n.store = newMemoryStore() // fetched again when it is needed
		n.seen = false
		return nil
	}
	if err := n.store.hold(n.tip); err != nil {
		return err
	}
	if n.store.packs < maxPacks {
		return nil
	}
	next, err := n.store.compacted(ctx)
	if err != nil {
		next, n.seen = newMemoryStore(), false
	}
	n.store = next
	return nil
}

// pause waits longer after each lost race, and never as long as the rival.
func pause(ctx context.Context, attempt int) error {
	limit := min(10*time.Millisecond<<attempt, time.Second)
	timer := time.NewTimer(limit/4 + rand.N(limit))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
