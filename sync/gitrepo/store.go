package gitrepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
)

const (
	objectCache = 16 << 20
	// maxMemory is how much one fetch may unpack to without a cache folder.
	maxMemory = 512 << 20
	// maxPacks is when a store is copied into a new one: each fetch adds a
	// pack, and every lookup asks every pack.
	maxPacks = 200
	// keepCommits is how many of the newest commits survive that.
	keepCommits = 3
)

// store holds the objects of the commits fetched so far. It has no refs and
// no lock files: a folder is either complete, and then lists its commits in
// the file "shallow", or it is thrown away.
type store struct {
	storer.Storer
	base  string          // folder of all generations, "" in memory
	dir   string          // folder of this generation
	held  []plumbing.Hash // commits known to be complete, oldest first
	whole map[plumbing.Hash]bool
	packs int
	bad   bool // an object could not be read; fetch into a new store
}

func newMemoryStore() *store {
	return &store{Storer: memory.NewStorage(), whole: map[plumbing.Hash]bool{}}
}

// cacheDir gives each repository its own place below dir.
func cacheDir(dir, url string) string {
	sum := sha256.Sum256([]byte(displayURL(url)))
	return filepath.Join(dir, hex.EncodeToString(sum[:8]))
}

// openStore opens the newest complete generation and removes all others. One
// that is damaged counts as not there: everything can be fetched again.
func openStore(ctx context.Context, base string) (*store, error) {
	names, err := filepath.Glob(filepath.Join(base, "objects-*"))
	if err != nil {
		return nil, err
	}
	sort.Sort(sort.Reverse(sort.StringSlice(names)))
	var found *store
	for _, dir := range names {
		if found == nil {
			s := diskStore(base, dir)
			if err := s.load(ctx); err == nil {
				found = s
				continue
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	if found != nil {
		return found, nil
	}
	return newDiskStore(base)
}

func newDiskStore(base string) (*store, error) {
	next := 1
	names, _ := filepath.Glob(filepath.Join(base, "objects-*"))
	for _, name := range names {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(name), "objects-%d", &n); err == nil && n >= next {
			next = n + 1
		}
	}
	dir := filepath.Join(base, fmt.Sprintf("objects-%09d", next))
	if err := os.MkdirAll(filepath.Join(dir, "objects", "pack"), 0o700); err != nil {
		return nil, err
	}
	return diskStore(base, dir), nil
}

func diskStore(base, dir string) *store {
	fs := osfs.New(dir, osfs.WithBoundOS())
	return &store{
		Storer: filesystem.NewStorageWithOptions(fs, cache.NewObjectLRU(objectCache), filesystem.Options{}),
		base:   base,
		dir:    dir,
		whole:  map[plumbing.Hash]bool{},
	}
}

// fresh is an empty store of the same kind.
func (s *store) fresh() (*store, error) {
	if s.dir == "" {
		return newMemoryStore(), nil
	}
	return newDiskStore(s.base)
}

// reopened is the same store with handles of its own, for when work that was
// left alone still holds the old ones. In memory such work touches nothing.
func (s *store) reopened(ctx context.Context) (*store, error) {
	if s.dir == "" {
		return s, nil
	}
	next := diskStore(s.base, s.dir)
	if err := next.load(ctx); err != nil {
		return newDiskStore(s.base)
	}
	return next, nil
}

// load reads which commits the folder holds, and checks all of it.
func (s *store) load(ctx context.Context) error {
	list, err := os.ReadFile(filepath.Join(s.dir, "shallow"))
	if err != nil {
		return err
	}
	packs, err := checkPacks(ctx, filepath.Join(s.dir, "objects", "pack"))
	if err != nil {
		return err
	}
	s.packs = packs
	for _, line := range strings.Fields(string(list)) {
		h := plumbing.NewHash(line)
		if !plumbing.IsHash(line) {
			return errors.New("not a list of commits")
		}
		if _, err := s.verify(ctx, h); err != nil {
			return err
		}
		s.held = append(s.held, h)
	}
	return nil
}

// hold records that a commit is complete.
func (s *store) hold(h plumbing.Hash) error {
	held := append(slices.DeleteFunc(slices.Clone(s.held), func(o plumbing.Hash) bool { return o == h }), h)
	if s.dir != "" {
		if err := writeList(filepath.Join(s.dir, "shallow"), held); err != nil {
			return fmt.Errorf("write cache in %s: %w", s.dir, err)
		}
	}
	s.held = held
	return nil
}

func (s *store) holds(h plumbing.Hash) bool { return slices.Contains(s.held, h) }

// last is the commit held last, zero if there is none.
func (s *store) last() plumbing.Hash {
	if len(s.held) == 0 {
		return plumbing.ZeroHash
	}
	return s.held[len(s.held)-1]
}

// compacted copies the newest commits into a fresh store.
func (s *store) compacted(ctx context.Context) (*store, error) {
	next, err := s.fresh()
	if err != nil {
		return nil, err
	}
	keep := s.held[max(0, len(s.held)-keepCommits):]
	pack := packOf(ctx, s.Storer, keep, nil, 1)
	err = next.add(ctx, pack)
	_ = pack.Close()
	for _, h := range keep {
		if err == nil {
			_, err = next.verify(ctx, h)
		}
		if err == nil {
			err = next.hold(h)
		}
	}
	if err != nil {
		_ = next.remove()
		return nil, err
	}
	return next, nil
}

func (s *store) close() error {
	if c, ok := s.Storer.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (s *store) remove() error {
	err := s.close()
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
