package gitrepo

import (
	"context"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Ancestry says how a commit relates to the one before it on the same ref.
type Ancestry string

const (
	Unknown   Ancestry = ""             // nothing to compare with, or too far away to tell
	Same      Ancestry = "same"         // the same commit
	Forward   Ancestry = "fast-forward" // a descendant
	Rewritten Ancestry = "rewritten"    // the previous commit is not part of its history
)

// lookBack is how many generations are fetched to tell a rewritten branch
// from one that moved on by several commits.
const lookBack = 50

// searchDepths are tried in turn to find an exact commit in a branch.
var searchDepths = []int{50, 1000, 20000}

// ancestry is a courtesy: it never fails a fetch.
func (r *Repo) ancestry(ctx context.Context, head Head, c Commit) Ancestry {
	switch {
	case c.Previous == "":
		return Unknown
	case c.Previous == c.Hash:
		return Same
	case slices.Contains(c.Parents, c.Previous):
		return Forward
	case len(c.Parents) == 0:
		return Rewritten // a root has no ancestors
	}
	history := newMemoryStore()
	want := plumbing.NewHash(c.Hash)
	err := within(ctx, r.opts.Timeout, func(ctx context.Context) error {
		return r.download(ctx, history, request{wants: []plumbing.Hash{head.wanted()}, depth: lookBack})
	})
	if err != nil {
		return Unknown
	}
	return descends(history, want, plumbing.NewHash(c.Previous), r.committed(c.Previous))
}

// committed is the time of a commit that is held, in Unix seconds, or 0.
func (r *Repo) committed(hash string) int64 {
	c, err := object.GetCommit(r.store, plumbing.NewHash(hash))
	if err != nil {
		return 0
	}
	return c.Committer.When.Unix()
}

// descends walks from one commit towards its roots, as far as they are there.
// Past the edge of what is there, times decide: history older than the commit
// that is looked for does not contain it.
func descends(s *store, from, target plumbing.Hash, since int64) Ancestry {
	edge := false
	queue, seen := []plumbing.Hash{from}, map[plumbing.Hash]bool{}
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		if h == target {
			return Forward
		}
		if seen[h] {
			continue
		}
		seen[h] = true
		c, err := object.GetCommit(s, h)
		if err != nil {
			continue // behind the edge; its child has decided
		}
		for _, p := range c.ParentHashes {
			if s.HasEncodedObject(p) != nil && p != target && (since == 0 || c.Committer.When.Unix() >= since) {
				edge = true
			}
			queue = append(queue, p)
		}
	}
	if edge {
		return Unknown
	}
	return Rewritten
}

// search looks for an exact commit in the branch, for servers that give out
// only the tips of refs, and copies it into the store.
func (r *Repo) search(ctx context.Context, s *store, head Head, want plumbing.Hash) error {
	if head.Ref != "" {
		return failf(nil, "fetch %s: %s is no longer the tip of %s, which moved meanwhile; the next poll finds its new head", r.remote.name(), short(want), head.Ref)
	}
	refs, err := readRefs(ctx, r.remote)
	if err != nil {
		return err
	}
	branch := branchRef(r.opts.Branch)
	if branch == "" {
		branch = headBranch(refs)
	}
	tip, ok := refs.References[branch.String()]
	if !ok {
		return failf(ErrHeadUnknown, "fetch %s: there is no branch %q to look for commit %s in; give the branch that contains it", r.remote.name(), branch.Short(), short(want))
	}
	for _, depth := range searchDepths {
		history := newMemoryStore()
		if err := r.download(ctx, history, request{wants: []plumbing.Hash{tip}, depth: depth}); err != nil {
			return err
		}
		switch descends(history, tip, want, 0) {
		case Forward:
			if history.HasEncodedObject(want) != nil {
				continue // named as a parent, one generation behind the edge
			}
			pack := packOf(ctx, history, []plumbing.Hash{want}, nil, 1)
			defer pack.Close()
			return s.add(ctx, pack)
		case Rewritten:
			return r.notThere(want, branch)
		}
	}
	return r.notThere(want, branch)
}

func (r *Repo) notThere(want plumbing.Hash, branch plumbing.ReferenceName) error {
	return failf(nil, "fetch %s: commit %s is not part of branch %s; correct the commit, or give the branch that contains it", r.remote.name(), short(want), branch.Short())
}
