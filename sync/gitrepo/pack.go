package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"
)

// add stores a pack's objects. Their names are computed from their content.
// In memory they are first put aside: a pack that is broken, too large, or
// still being read when its caller has left never reaches the store.
func (s *store) add(ctx context.Context, pack io.Reader) error {
	if s.dir != "" {
		if err := packfile.UpdateObjectStorage(s.Storer, pack); err != nil && !errors.Is(err, packfile.ErrEmptyPackfile) {
			s.sweep()
			return err
		}
		s.packs++
		return nil
	}
	aside := &bounded{Storage: memory.NewStorage(), left: maxMemory}
	parser, err := packfile.NewParserWithStorage(packfile.NewScanner(pack), aside)
	if err != nil {
		return err
	}
	if _, err := parser.Parse(); err != nil && !errors.Is(err, packfile.ErrEmptyPackfile) {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, o := range aside.Objects {
		if _, err := s.SetEncodedObject(o); err != nil {
			return err
		}
	}
	s.packs++
	return nil
}

// bounded is memory that fills up.
type bounded struct {
	*memory.Storage
	left int64
}

func (b *bounded) SetEncodedObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	if b.left -= o.Size(); b.left < 0 {
		return plumbing.ZeroHash, fmt.Errorf("%w: more than %d bytes unpacked; give a cache folder", errTooMuch, maxMemory)
	}
	return b.Storage.SetEncodedObject(o)
}

// sweep removes what a broken fetch left.
func (s *store) sweep() {
	names, _ := filepath.Glob(filepath.Join(s.dir, "objects", "pack", "tmp_pack_*"))
	for _, name := range names {
		if s.dir != "" {
			_ = os.Remove(name)
		}
	}
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
