package gitrepo

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
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
