// Package gitrepo is the only door to Git: it asks a remote for its head,
// fetches one commit, reads files from tree objects and keeps notes.
//
// There is no work tree and no history. A fetch brings one commit at depth 1,
// and nothing is handed out before the commit, its trees and its blobs are all
// there. What the files mean is left to the callers.
//
//	Poll     one ref of the remote, no objects
//	Fetch    the commit behind it, verified
//	Files    the manifests of that commit
//	Changed  what differs between two commits
//	WriteNote, ReadNote, History
//	         one notes ref per cluster, written by compare-and-swap
//
// No git binary is needed, not even for file:// and plain paths, and nothing
// is read from the user's own Git or SSH configuration.
package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	defaultTimeout      = 60 * time.Second
	defaultMaxFileBytes = 1 << 20
	defaultMaxPackBytes = 256 << 20
	defaultMaxFiles     = 100_000
)

// Options say which repository to follow and how. Only URL is required.
type Options struct {
	// URL is https://, http://, ssh://, git@host:path, file:///path or a path.
	URL string

	// At most one of these; none means the branch the remote's HEAD names.
	// Commit is the full hash. With a Branch beside it, the commit is looked
	// for in that branch when the server gives out no single commits.
	Branch, Tag, Commit string

	// Path is the folder in the repository, "" for its root.
	Path string

	Auth Auth

	// Dir keeps fetched objects between runs. "" keeps them in memory.
	Dir string

	// Timeout bounds each poll and each push, and the silence of the remote
	// during a fetch. A whole fetch may take ten times as long.
	Timeout time.Duration

	// Bounds on what the remote may send.
	MaxFileBytes, MaxPackBytes int64
	MaxFiles                   int

	Notes Notes
}

// Notes say where and as whom notes are written.
type Notes struct {
	Cluster  string // names the ref: refs/notes/situ/<cluster>
	Instance string // names the writer in the note's commit
	Auth     *Auth  // nil: the same credential as for reading
}

// Repo follows one repository. It is safe for concurrent use.
type Repo struct {
	opts   Options
	remote remote
	notes  *notebook

	mu     sync.Mutex // guards all below
	store  *store
	blobs  map[plumbing.Hash]blob // what Files learned about the blobs it listed last
	unlock func()
}

// Open checks the options and opens the cache. It does not ask the remote.
func Open(ctx context.Context, opts Options) (*Repo, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", displayURL(opts.URL), err)
	}
	source, err := newRemote(opts, opts.Auth)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", displayURL(opts.URL), err)
	}
	sink := source
	if opts.Notes.Auth != nil {
		if sink, err = newRemote(opts, *opts.Notes.Auth); err != nil {
			return nil, fmt.Errorf("open %s for notes: %w", displayURL(opts.URL), err)
		}
	}
	r := &Repo{opts: opts, remote: source, unlock: func() {}}
	r.notes = newNotebook(opts, source, sink)
	if opts.Dir == "" {
		r.store = newMemoryStore()
		return r, nil
	}
	dir := cacheDir(opts.Dir, opts.URL)
	if r.unlock, err = lockDir(dir); err != nil {
		return nil, fmt.Errorf("open cache of %s: %w", source.name(), err)
	}
	if r.store, err = openStore(ctx, dir); err != nil {
		r.unlock()
		return nil, fmt.Errorf("open cache of %s: %w", source.name(), err)
	}
	return r, nil
}

// Close releases the cache folder. The Repo must not be used afterwards.
func (r *Repo) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unlock()
	r.unlock = func() {}
	return r.store.close()
}

// Name is the remote's URL without credentials, fit for messages.
func (r *Repo) Name() string { return r.remote.name() }

func (o Options) withDefaults() (Options, error) {
	if o.URL == "" {
		return o, errors.New("no repository URL given; want https://, ssh://, git@host:path, file:// or a path")
	}
	chosen := 0
	for _, s := range []string{o.Branch, o.Tag} {
		if s != "" {
			chosen++
		}
	}
	if chosen > 1 || (o.Tag != "" && o.Commit != "") {
		return o, errors.New("branch, tag and commit exclude each other; give one of them")
	}
	if o.Commit != "" && !plumbing.IsHash(o.Commit) {
		return o, fmt.Errorf("commit %q is not a full hash; give all 40 hex digits", o.Commit)
	}
	o.Commit = strings.ToLower(o.Commit)
	for _, name := range []plumbing.ReferenceName{branchRef(o.Branch), tagRef(o.Tag)} {
		if err := checkRef(name); err != nil {
			return o, err
		}
	}
	folder, err := cleanFolder(o.Path)
	if err != nil {
		return o, err
	}
	o.Path = folder
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = defaultMaxFileBytes
	}
	if o.MaxPackBytes <= 0 {
		o.MaxPackBytes = defaultMaxPackBytes
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = defaultMaxFiles
	}
	return o, nil
}

// cleanFolder makes a folder's path relative to the repository's root.
func cleanFolder(folder string) (string, error) {
	for _, part := range strings.Split(folder, "/") {
		if part == ".." {
			return "", fmt.Errorf("path %q leaves the repository; give a folder inside it", folder)
		}
	}
	clean := path.Clean("/" + folder)
	return strings.TrimPrefix(clean, "/"), nil
}

func branchRef(name string) plumbing.ReferenceName {
	if name == "" || strings.HasPrefix(name, "refs/") {
		return plumbing.ReferenceName(name)
	}
	return plumbing.NewBranchReferenceName(name)
}

func tagRef(name string) plumbing.ReferenceName {
	if name == "" || strings.HasPrefix(name, "refs/") {
		return plumbing.ReferenceName(name)
	}
	return plumbing.NewTagReferenceName(name)
}

func checkRef(name plumbing.ReferenceName) error {
	if name == "" {
		return nil
	}
	if err := name.Validate(); err != nil {
		return fmt.Errorf("%q is not a name Git allows for a branch or tag", name.Short())
	}
	return nil
}
