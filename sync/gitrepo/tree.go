package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// maxDepth bounds how deep folders may nest.
const maxDepth = 100

// entries reads one tree and refuses it as a whole if any name in it could
// lead elsewhere.
func entries(s storer.EncodedObjectStorer, h plumbing.Hash) ([]object.TreeEntry, error) {
	t, err := object.GetTree(s, h)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", short(h), err)
	}
	seen := make(map[string]bool, len(t.Entries))
	for _, e := range t.Entries {
		if badName(e.Name) {
			return nil, failf(nil, "tree %s has an entry named %q, so the whole commit is refused; remove it with git's own tools", short(h), e.Name)
		}
		if seen[e.Name] {
			return nil, failf(nil, "tree %s has two entries named %q, so the whole commit is refused; rewrite it with git's own tools", short(h), e.Name)
		}
		seen[e.Name] = true
	}
	return t.Entries, nil
}

func badName(name string) bool {
	return name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.ContainsAny(name, "/\x00")
}

func isFile(m filemode.FileMode) bool {
	return m == filemode.Regular || m == filemode.Executable || m == filemode.Deprecated
}

// verify makes sure that a commit, all its trees and all its files are there.
func (s *store) verify(ctx context.Context, h plumbing.Hash) (*object.Commit, error) {
	c, err := object.GetCommit(s, h)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", short(h), err)
	}
	return c, s.verifyTree(ctx, c.TreeHash, 0)
}

func (s *store) verifyTree(ctx context.Context, h plumbing.Hash, depth int) error {
	if s.whole[h] {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth > maxDepth {
		return failf(nil, "folders nest deeper than %d, so the whole commit is refused", maxDepth)
	}
	list, err := entries(s, h)
	if err != nil {
		return err
	}
	for _, e := range list {
		switch {
		case e.Mode == filemode.Dir:
			err = s.verifyTree(ctx, e.Hash, depth+1)
		case isFile(e.Mode):
			if err = s.HasEncodedObject(e.Hash); err != nil {
				err = fmt.Errorf("file %q: %w", e.Name, err)
			}
		}
		if err != nil {
			return err
		}
	}
	s.whole[h] = true
	return nil
}

// find goes down to a folder; zero if there is none.
func find(s storer.EncodedObjectStorer, root plumbing.Hash, folder string) (plumbing.Hash, error) {
	if folder == "" {
		return root, nil
	}
	name, rest, _ := strings.Cut(folder, "/")
	list, err := entries(s, root)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for _, e := range list {
		if e.Name == name && e.Mode == filemode.Dir {
			return find(s, e.Hash, rest)
		}
	}
	return plumbing.ZeroHash, nil
}

// gather lists a tree's objects, skipping those in seen.
func gather(ctx context.Context, s storer.EncodedObjectStorer, h plumbing.Hash, seen map[plumbing.Hash]bool, out *[]plumbing.Hash) error {
	if seen[h] {
		return nil
	}
	seen[h] = true
	if err := ctx.Err(); err != nil {
		return err
	}
	t, err := object.GetTree(s, h)
	if err != nil {
		return fmt.Errorf("tree %s: %w", short(h), err)
	}
	*out = append(*out, h)
	for _, e := range t.Entries {
		switch {
		case e.Mode == filemode.Submodule || seen[e.Hash]:
		case e.Mode == filemode.Dir:
			if err := gather(ctx, s, e.Hash, seen, out); err != nil {
				return err
			}
		default:
			seen[e.Hash] = true
			*out = append(*out, e.Hash)
		}
	}
	return nil
}

// packOf streams the objects of commits, and of depth-1 generations of their
// parents, without what the commits in haves hold. Errors come from reading.
func packOf(ctx context.Context, s storer.EncodedObjectStorer, commits, haves []plumbing.Hash, depth int) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		hashes, err := objectsOf(ctx, s, commits, haves, depth)
		if err == nil {
			_, err = packfile.NewEncoder(w, s, false).Encode(hashes, 0)
		}
		_ = w.CloseWithError(err) // nil means the end; a reader that left ends the encoder
	}()
	return r
}

func objectsOf(ctx context.Context, s storer.EncodedObjectStorer, commits, haves []plumbing.Hash, depth int) ([]plumbing.Hash, error) {
	seen := map[plumbing.Hash]bool{}
	var skip, out []plumbing.Hash
	for _, h := range haves {
		c, err := object.GetCommit(s, h)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue // the other side has what we lost; that is fine
		}
		if err != nil {
			return nil, err
		}
		seen[h] = true
		if err := gather(ctx, s, c.TreeHash, seen, &skip); err != nil {
			return nil, err
		}
	}
	for ; depth > 0 && len(commits) > 0; depth-- {
		var parents []plumbing.Hash
		for _, h := range commits {
			if seen[h] {
				continue
			}
			seen[h] = true
			c, err := object.GetCommit(s, h)
			if err != nil {
				return nil, fmt.Errorf("commit %s: %w", short(h), err)
			}
			out = append(out, h)
			if err := gather(ctx, s, c.TreeHash, seen, &out); err != nil {
				return nil, err
			}
			parents = append(parents, c.ParentHashes...)
		}
		commits = parents
	}
	return out, nil
}
