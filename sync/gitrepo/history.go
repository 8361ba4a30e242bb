package gitrepo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// ReadNotes reads the notes of all clusters on a commit, sorted by cluster.
func (r *Repo) ReadNotes(ctx context.Context, commit string) ([]Note, error) {
	if !plumbing.IsHash(commit) {
		return nil, fmt.Errorf("notes of %s: %q is not a full commit hash", r.Name(), commit)
	}
	var notes []Note
	err := within(ctx, 10*r.opts.Timeout, func(ctx context.Context) error {
		return steady(func() (err error) {
			notes, err = r.allNotes(ctx, commit)
			return err
		})
	})
	if err != nil {
		return nil, explain("read notes of", r.remote, err)
	}
	return notes, nil
}

func (r *Repo) allNotes(ctx context.Context, commit string) ([]Note, error) {
	refs, err := readRefs(ctx, r.remote)
	if err != nil {
		return nil, err
	}
	names, tips := noteRefs(refs)
	if len(names) == 0 {
		return nil, nil
	}
	s := newMemoryStore()
	if err := r.download(ctx, s, request{wants: slices.Clone(tips), depth: 1}); err != nil {
		return nil, err
	}
	var notes []Note
	for i, name := range names {
		content, err := readNote(s, tips[i], commit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if content != nil {
			notes = append(notes, Note{Cluster: unescapeCluster(name), Commit: commit, Content: content})
		}
	}
	return notes, nil
}

func noteRefs(refs *packp.AdvRefs) (names []string, tips []plumbing.Hash) {
	for name := range refs.References {
		if strings.HasPrefix(name, notesPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		tips = append(tips, refs.References[name])
	}
	return names, tips
}

// maxHistory bounds how many writes of notes History looks at.
const maxHistory = 5000

// History reads this cluster's newest n notes, the one written last first.
// Each commit appears once, with its note as it is now.
func (r *Repo) History(ctx context.Context, n int) ([]Note, error) {
	ref := r.notes.ref
	if ref == "" {
		return nil, fmt.Errorf("notes of %s: no cluster name given; it names the notes ref", r.Name())
	}
	var notes []Note
	err := within(ctx, 10*r.opts.Timeout, func(ctx context.Context) error {
		return steady(func() (err error) {
			notes, err = r.newestNotes(ctx, ref, n)
			return err
		})
	})
	if err != nil {
		return nil, explain("read "+ref.String()+" of", r.remote, err)
	}
	for i := range notes {
		notes[i].Cluster = r.opts.Notes.Cluster
	}
	return notes, nil
}

func (r *Repo) newestNotes(ctx context.Context, ref plumbing.ReferenceName, n int) ([]Note, error) {
	refs, err := readRefs(ctx, r.remote)
	if err != nil {
		return nil, err
	}
	tip, ok := refs.References[ref.String()]
	if !ok || n <= 0 {
		return nil, nil
	}
	// A commit's note is often written several times, so guess and deepen.
	for depth := 4*n + 1; ; depth *= 4 {
		s := newMemoryStore()
		if err := r.download(ctx, s, request{wants: []plumbing.Hash{tip}, depth: min(depth, maxHistory)}); err != nil {
			return nil, err
		}
		notes, complete, err := newest(ctx, s, tip, n)
		if err != nil || complete || depth >= maxHistory {
			return notes, err
		}
	}
}

// newest walks the writes backwards. It is complete if it found n notes or
// came to the first write.
func newest(ctx context.Context, s *store, tip plumbing.Hash, n int) (notes []Note, complete bool, err error) {
	seen := map[string]bool{}
	for at := tip; len(notes) < n; {
		c, err := object.GetCommit(s, at)
		if err != nil {
			return notes, false, nil // behind the depth that was fetched
		}
		parent, before := plumbing.ZeroHash, plumbing.ZeroHash
		if len(c.ParentHashes) > 0 {
			parent = c.ParentHashes[0]
			p, err := object.GetCommit(s, parent)
			if err != nil {
				return notes, false, nil
			}
			before = p.TreeHash
		}
		ids, err := written(ctx, s, before, c.TreeHash)
		if err != nil {
			return nil, false, err
		}
		for _, id := range ids {
			if seen[id] || len(notes) == n {
				continue
			}
			seen[id] = true
			content, err := readNote(s, tip, id)
			if err != nil {
				return nil, false, err
			}
			if content != nil { // not removed since
				notes = append(notes, Note{Commit: id, Content: content, Time: c.Committer.When})
			}
		}
		if parent.IsZero() {
			return notes, true, nil
		}
		at = parent
	}
	return notes, true, nil
}

// written lists the notes whose content differs between two states of a ref,
// however their names are split.
func written(ctx context.Context, s *store, before, after plumbing.Hash) ([]string, error) {
	old, now := map[string]plumbing.Hash{}, map[string]plumbing.Hash{}
	err := diff(ctx, s, before, after, "", func(name string, x, y *object.TreeEntry) {
		id := strings.ReplaceAll(name, "/", "")
		if !plumbing.IsHash(id) {
			return
		}
		if x != nil {
			old[id] = x.Hash
		}
		if y != nil {
			now[id] = y.Hash
		}
	})
	var ids []string
	for id, h := range now {
		if old[id] != h {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, err
}
