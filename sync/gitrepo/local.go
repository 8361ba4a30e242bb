package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Local reads revisions of a repository on this machine, in place.
type Local struct {
	dir  string
	git  *git.Repository
	disk *filesystem.Storage
}

// OpenLocal opens the repository a folder belongs to: a bare one, a work tree,
// or any folder inside it.
func OpenLocal(dir string) (*Local, error) {
	bare := exists(filepath.Join(dir, "HEAD")) && exists(filepath.Join(dir, "objects"))
	repo, disk, err := openDisk(dir, &git.PlainOpenOptions{DetectDotGit: !bare})
	switch {
	case errors.Is(err, git.ErrRepositoryNotExists):
		return nil, fmt.Errorf("open %s: neither it nor a folder above is a Git repository: %w", dir, os.ErrNotExist)
	case err != nil && isSHA256(err):
		return nil, failf(ErrObjectFormat, "open %s: the repository uses SHA-256 object names, which are not supported; use one created with --object-format=sha1", dir)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return &Local{dir: dir, git: repo, disk: disk}, nil
}

// Close releases the repository's files.
func (l *Local) Close() error { return l.disk.Close() }

// Resolve finds the commit that a branch, tag, hash or expression such as
// HEAD~1 names. The commit's Tree is that of the folder path, "" for the root.
func (l *Local) Resolve(ctx context.Context, rev, path string) (Commit, error) {
	folder, err := cleanFolder(path)
	if err != nil {
		return Commit{}, err
	}
	h, err := l.git.ResolveRevision(plumbing.Revision(rev))
	if err != nil {
		return Commit{}, fmt.Errorf("revision %q in %s: no such branch, tag or commit: %w", rev, l.dir, err)
	}
	c, err := object.GetCommit(l.disk, *h)
	if err != nil {
		return Commit{}, fmt.Errorf("revision %q in %s: not a commit: %w", rev, l.dir, err)
	}
	if err := ctx.Err(); err != nil {
		return Commit{}, err
	}
	return describe(l.disk, c, folder)
}

// Files lists the manifests of a revision below a folder, as Repo.Files does.
func (l *Local) Files(ctx context.Context, c Commit, path string) (Files, error) {
	folder, err := cleanFolder(path)
	if err != nil {
		return Files{}, err
	}
	commit, err := object.GetCommit(l.disk, plumbing.NewHash(c.Hash))
	if err != nil {
		return Files{}, fmt.Errorf("commit %.12s in %s: %w", c.Hash, l.dir, err)
	}
	root, err := find(l.disk, commit.TreeHash, folder)
	if err != nil {
		return Files{}, fmt.Errorf("commit %.12s in %s: %w", c.Hash, l.dir, err)
	}
	if root.IsZero() {
		return Files{}, failf(nil, "commit %.12s in %s has no folder %q; correct the path", c.Hash, l.dir, folder)
	}
	list := lister{
		objects: l.disk,
		opts:    Options{MaxFileBytes: defaultMaxFileBytes, MaxFiles: defaultMaxFiles},
		blobs:   map[plumbing.Hash]blob{},
		read: func(ctx context.Context, name string, h plumbing.Hash) ([]byte, error) {
			data, err := readBlob(l.disk, h, defaultMaxFileBytes)
			if err != nil {
				return nil, fmt.Errorf("%s in %s: %w", name, l.dir, err)
			}
			return data, ctx.Err()
		},
	}
	files, err := list.list(ctx, root, folder)
	if err != nil {
		return Files{}, fmt.Errorf("files of %.12s in %s: %w", c.Hash, l.dir, err)
	}
	return files, nil
}
