package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// File is one manifest file of a commit.
type File struct {
	Path string // from the repository's root
	Hash string // of its content
	Size int64

	read func(context.Context) ([]byte, error)
}

// Content reads the file, as it is in Git: no filters, no line-end changes.
func (f File) Content(ctx context.Context) ([]byte, error) { return f.read(ctx) }

// Skip is an entry that might have been meant as a manifest and is not read.
// What it stood for must not be taken for deleted.
type Skip struct{ Path, Reason string }

// Files are the manifests below the folder that is followed, sorted by path:
// *.yaml, *.yml and *.json. Names with a leading dot belong to tools and are
// left out, folders too.
type Files struct {
	Files   []File
	Skipped []Skip
}

// Files lists the manifests of a commit that was fetched.
func (r *Repo) Files(ctx context.Context, c Commit) (Files, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	root, err := r.folder(c)
	if err != nil {
		return Files{}, err
	}
	l := &lister{objects: r.store, opts: r.opts, known: r.blobs, blobs: map[plumbing.Hash]blob{}, read: r.content}
	files, err := l.list(ctx, root, r.opts.Path)
	if err != nil {
		r.suspect(err)
		return Files{}, fmt.Errorf("files of %.12s in %s: %w", c.Hash, r.Name(), err)
	}
	r.blobs = l.blobs
	return files, nil
}

// folder finds the tree to read, with errors that say what is missing.
func (r *Repo) folder(c Commit) (plumbing.Hash, error) {
	h := plumbing.NewHash(c.Hash)
	if !r.store.holds(h) {
		return plumbing.ZeroHash, failf(ErrNotHeld, "commit %.12s of %s is not here; fetch it first", c.Hash, r.Name())
	}
	commit, err := object.GetCommit(r.store, h)
	if err != nil {
		r.suspect(err)
		return plumbing.ZeroHash, fmt.Errorf("commit %.12s of %s: %w", c.Hash, r.Name(), err)
	}
	root, err := find(r.store, commit.TreeHash, r.opts.Path)
	if err != nil {
		r.suspect(err)
		return plumbing.ZeroHash, fmt.Errorf("commit %.12s of %s: %w", c.Hash, r.Name(), err)
	}
	if root.IsZero() {
		return root, failf(nil, "commit %.12s of %s has no folder %q; correct the path, or add the folder", c.Hash, r.Name(), r.opts.Path)
	}
	return root, nil
}

// suspect remembers that the store let us down, so that the next fetch starts
// anew.
func (r *Repo) suspect(err error) {
	var refused *failure
	if !errors.As(err, &refused) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		r.store.bad = true
	}
}

func (r *Repo) content(ctx context.Context, name string, h plumbing.Hash) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := readBlob(r.store, h, r.opts.MaxFileBytes)
	if err != nil {
		r.suspect(err)
		return nil, fmt.Errorf("%s in %s: %w", name, r.Name(), err)
	}
	return data, nil
}

var errLarger = errors.New("larger")

// readBlob gives the first limit bytes and one more beside errLarger.
func readBlob(s storer.EncodedObjectStorer, h plumbing.Hash, limit int64) ([]byte, error) {
	b, err := object.GetBlob(s, h)
	if err != nil {
		return nil, err
	}
	r, err := b.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%w than %d bytes", errLarger, limit)
	}
	return data, err
}

// blob is what a listing must know about a file's content.
type blob struct {
	size int64
	lfs  bool
}

// lister walks one tree. What it learned about blobs serves the next listing.
type lister struct {
	objects storer.EncodedObjectStorer
	opts    Options
	known   map[plumbing.Hash]blob
	blobs   map[plumbing.Hash]blob
	read    func(context.Context, string, plumbing.Hash) ([]byte, error)
	out     Files
}

func (l *lister) list(ctx context.Context, tree plumbing.Hash, folder string) (Files, error) {
	if err := l.walk(ctx, tree, folder, 0); err != nil {
		return Files{}, err
	}
	slices.SortFunc(l.out.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(l.out.Skipped, func(a, b Skip) int { return strings.Compare(a.Path, b.Path) })
	return l.out, nil
}

// ignoreFile is handed over from the top folder, though its name has a dot: it
// says which of the others are no manifests.
const ignoreFile = ".situignore"

func (l *lister) walk(ctx context.Context, tree plumbing.Hash, folder string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth > maxDepth {
		return failf(nil, "folders nest deeper than %d at %s", maxDepth, folder)
	}
	list, err := entries(l.objects, tree)
	if err != nil {
		return err
	}
	for _, e := range list {
		name := path.Join(folder, e.Name)
		switch {
		case depth == 0 && e.Name == ignoreFile && isFile(e.Mode):
			err = l.file(name, e.Hash)
		case strings.HasPrefix(e.Name, "."):
		case e.Mode == filemode.Dir:
			err = l.walk(ctx, e.Hash, name, depth+1)
		case e.Mode == filemode.Submodule:
			l.skip(name, "submodule ignored")
		case e.Mode == filemode.Symlink:
			l.skip(name, "symlink not followed")
		case isFile(e.Mode) && isManifest(e.Name):
			err = l.file(name, e.Hash)
		}
		if err != nil {
			return err
		}
		if len(l.out.Files)+len(l.out.Skipped) > l.opts.MaxFiles {
			return failf(nil, "more than %d files; narrow the path", l.opts.MaxFiles)
		}
	}
	return nil
}

func (l *lister) skip(name, reason string) {
	l.out.Skipped = append(l.out.Skipped, Skip{Path: name, Reason: reason})
}

func (l *lister) file(name string, h plumbing.Hash) error {
	b, err := l.look(h)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l.blobs[h] = b
	switch {
	case b.size > l.opts.MaxFileBytes:
		l.skip(name, fmt.Sprintf("%d bytes, more than the limit of %d", b.size, l.opts.MaxFileBytes))
	case b.lfs:
		l.skip(name, "Git LFS pointer; the content is not in Git, so store this file without LFS")
	default:
		read := l.read
		l.out.Files = append(l.out.Files, File{Path: name, Hash: h.String(), Size: b.size,
			read: func(ctx context.Context) ([]byte, error) { return read(ctx, name, h) }})
	}
	return nil
}

// maxPointer is how long a Git LFS pointer may be.
const maxPointer = 1024

func (l *lister) look(h plumbing.Hash) (blob, error) {
	if b, ok := l.known[h]; ok {
		return b, nil
	}
	size, err := l.objects.EncodedObjectSize(h)
	if errors.Is(err, plumbing.ErrObjectNotFound) { // it does not look at borrowed objects
		if b, found := object.GetBlob(l.objects, h); found == nil {
			size, err = b.Size, nil
		}
	}
	if err != nil || size > maxPointer {
		return blob{size: size}, err
	}
	data, err := readBlob(l.objects, h, maxPointer)
	return blob{size: size, lfs: bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/"))}, err
}

func isManifest(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
