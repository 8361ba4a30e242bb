package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Commit is a commit whose trees and files are all here.
type Commit struct {
	Hash    string
	Tree    string // of the folder that is followed; "" if the commit has no such folder
	Author  string
	Time    time.Time // when it was committed
	Subject string    // first line of the message
	Parents []string

	Previous string   // Head.Previous
	Ancestry Ancestry // how this commit relates to Previous
}

// RewrittenFrom is the commit that is no longer part of the history, or "".
func (c Commit) RewrittenFrom() string {
	if c.Ancestry == Rewritten {
		return c.Previous
	}
	return ""
}

// Fetch brings the commit of a head, at depth 1, and makes sure it is whole.
// A commit that is already here costs no request.
func (r *Repo) Fetch(ctx context.Context, head Head) (Commit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := plumbing.NewHash(head.Hash)
	if want.IsZero() {
		return Commit{}, failf(ErrHeadUnknown, "fetch %s: no commit given; poll first", r.remote.name())
	}
	var err error
	switch {
	case r.store.bad:
		err = r.renew(ctx, head, want)
	case !r.store.holds(want):
		err = r.bring(ctx, head, want)
	}
	if err != nil {
		return Commit{}, explain("fetch", r.remote, err)
	}
	commit, err := r.describe(ctx, want)
	if err != nil {
		return Commit{}, explain("read "+short(want)+" of", r.remote, err)
	}
	commit.Previous = head.Previous
	commit.Ancestry = r.ancestry(ctx, head, commit)
	if err := r.store.hold(want); err != nil {
		return Commit{}, explain("fetch", r.remote, err)
	}
	r.compact(ctx)
	return commit, nil
}

// bring fetches into the store, and once more into a new one if the first is
// found damaged.
func (r *Repo) bring(ctx context.Context, head Head, want plumbing.Hash) error {
	had := len(r.store.held) > 0
	err := r.transfer(ctx, r.store, head, want)
	var refused *failure
	if err == nil || ctx.Err() != nil || errors.As(err, &refused) {
		return err
	}
	if errors.Is(err, errAbandoned) {
		// Something still writes to the store, so it is left to that.
		next, reopenErr := r.store.reopened(context.WithoutCancel(ctx))
		if reopenErr != nil {
			return errors.Join(err, reopenErr)
		}
		r.store = next
		return err
	}
	if !errors.Is(err, errIncomplete) || !had {
		return err
	}
	return r.renew(ctx, head, want)
}

// renew fetches into a new store. The old one stays if that fails, for what
// can still be read from it.
func (r *Repo) renew(ctx context.Context, head Head, want plumbing.Hash) error {
	next, err := r.store.fresh()
	if err != nil {
		return err
	}
	if err := r.transfer(ctx, next, head, want); err != nil {
		return errors.Join(err, next.remove())
	}
	return r.swap(next)
}

// swap puts a store in the place of the one before.
func (r *Repo) swap(next *store) error {
	old := r.store
	r.store = next
	return old.remove()
}

// errIncomplete says that a fetch went well and still objects are missing or
// unreadable, so what was there before must be damaged.
var errIncomplete = errors.New("objects are missing")

// transfer fetches one commit into a store and verifies it there.
func (r *Repo) transfer(ctx context.Context, s *store, head Head, want plumbing.Hash) error {
	req := request{wants: []plumbing.Hash{head.wanted()}, depth: 1}
	if last := s.last(); !last.IsZero() && !r.remote.plain() {
		req.haves = []plumbing.Hash{last}
	}
	return within(ctx, 10*r.opts.Timeout, func(ctx context.Context) error {
		err := r.download(ctx, s, req)
		if errors.Is(err, errNotOffered) {
			err = r.search(ctx, s, head, want)
		}
		if err != nil {
			return err
		}
		if _, err := s.verify(ctx, want); err != nil {
			var refused *failure
			if ctx.Err() != nil || errors.As(err, &refused) {
				return err
			}
			return fmt.Errorf("%w: %w", errIncomplete, err)
		}
		return nil
	})
}

func (r *Repo) describe(ctx context.Context, h plumbing.Hash) (Commit, error) {
	c, err := r.store.verify(ctx, h)
	if err != nil {
		return Commit{}, err
	}
	return describe(r.store, c, r.opts.Path)
}

func describe(s storer.EncodedObjectStorer, c *object.Commit, folder string) (Commit, error) {
	tree, err := find(s, c.TreeHash, folder)
	if err != nil {
		return Commit{}, err
	}
	subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	commit := Commit{
		Hash:    c.Hash.String(),
		Author:  clean(c.Author.Name, nil),
		Time:    c.Committer.When,
		Subject: clean(subject, nil),
	}
	if !tree.IsZero() {
		commit.Tree = tree.String()
	}
	for _, p := range c.ParentHashes {
		commit.Parents = append(commit.Parents, p.String())
	}
	return commit, nil
}

// compact swaps a store of many packs for one of few. If it cannot, an object
// is unreadable, and the next fetch starts anew.
func (r *Repo) compact(ctx context.Context) {
	if r.store.packs < maxPacks {
		return
	}
	next, err := r.store.compacted(ctx)
	if err == nil {
		err = r.swap(next)
	}
	if err != nil && ctx.Err() == nil {
		r.store.bad = true
	}
}
