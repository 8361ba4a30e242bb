package gitrepo

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Changed lists the manifests that differ between two commits that were
// fetched: added, removed, or with other content or another kind. Folders with
// equal hashes are not opened.
func (r *Repo) Changed(ctx context.Context, from, to Commit) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, err := r.folder(from)
	if err != nil {
		return nil, err
	}
	b, err := r.folder(to)
	if err != nil {
		return nil, err
	}
	var out []string
	err = diff(ctx, r.store, a, b, r.opts.Path, func(name string, _, _ *object.TreeEntry) {
		if isManifest(name) && !hidden(name[len(r.opts.Path):]) {
			out = append(out, name)
		}
	})
	if err != nil {
		r.suspect(err)
		return nil, fmt.Errorf("compare %.12s with %.12s in %s: %w", from.Hash, to.Hash, r.Name(), err)
	}
	slices.Sort(out)
	return out, nil
}

func hidden(name string) bool {
	return strings.Contains("/"+strings.TrimPrefix(name, "/"), "/.")
}

// diff reports the files in which two trees differ, with the entry on each
// side. The zero hash stands for no tree.
func diff(ctx context.Context, s storer.EncodedObjectStorer, a, b plumbing.Hash, folder string, report func(string, *object.TreeEntry, *object.TreeEntry)) error {
	if a == b {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	left, err := sides(s, a)
	if err != nil {
		return err
	}
	right, err := sides(s, b)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for name := range left {
		names[name] = true
	}
	for name := range right {
		names[name] = true
	}
	for name := range names {
		x, y := left[name], right[name]
		if x != nil && y != nil && x.Hash == y.Hash && x.Mode == y.Mode {
			continue
		}
		full := path.Join(folder, name)
		if subtree(x) != subtree(y) {
			if err := diff(ctx, s, subtree(x), subtree(y), full, report); err != nil {
				return err
			}
		}
		if x, y := leaf(x), leaf(y); x != nil || y != nil {
			report(full, x, y)
		}
	}
	return nil
}

func sides(s storer.EncodedObjectStorer, h plumbing.Hash) (map[string]*object.TreeEntry, error) {
	if h.IsZero() {
		return nil, nil
	}
	list, err := entries(s, h)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*object.TreeEntry, len(list))
	for i := range list {
		out[list[i].Name] = &list[i]
	}
	return out, nil
}

func subtree(e *object.TreeEntry) plumbing.Hash {
	if e == nil || e.Mode != filemode.Dir {
		return plumbing.ZeroHash
	}
	return e.Hash
}

func leaf(e *object.TreeEntry) *object.TreeEntry {
	if e == nil || e.Mode == filemode.Dir {
		return nil
	}
	return e
}
