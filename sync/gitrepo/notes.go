package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

const (
	notesPrefix = "refs/notes/situ/"
	// maxNoteBytes is how much of one note is read. Anyone who may push can
	// write notes, so what is read back is a hint and never an authority.
	maxNoteBytes = 1 << 20
	// maxWrites bounds the attempts of one write when others write, too.
	maxWrites = 10
)

// Note is what one cluster wrote on one commit.
type Note struct {
	Cluster string
	Commit  string
	Content []byte
	Time    time.Time // of the last write; zero where only the content was asked for
}

// ReadNote reads the note of this cluster on a commit. The second result is
// false if there is none.
func (r *Repo) ReadNote(ctx context.Context, commit string) ([]byte, bool, error) {
	return r.notes.readOne(ctx, commit)
}

// WriteNote sets the note of this cluster on a commit to what merge makes of
// the current one, which is nil if there is none. If somebody else writes at
// the same moment, merge is called again with what they wrote, so it must not
// have effects. Nothing is written if merge returns what is there already.
// A remote that refuses gives ErrReadOnly, after one attempt.
func (r *Repo) WriteNote(ctx context.Context, commit string, merge func(current []byte) []byte) error {
	return r.notes.write(ctx, commit, merge)
}

// notebook keeps the notes ref of one cluster in memory, apart from the
// manifests, so that those can be thrown away at any time.
type notebook struct {
	source, sink remote
	opts         Options
	ref          plumbing.ReferenceName

	mu    sync.Mutex
	store *store
	tip   plumbing.Hash // the ref as last seen or written
	seen  bool          // false until tip means something
}

func newNotebook(opts Options, source, sink remote) *notebook {
	n := &notebook{opts: opts, source: source, sink: sink, store: newMemoryStore()}
	if opts.Notes.Cluster != "" {
		n.ref = plumbing.ReferenceName(notesPrefix + escapeCluster(opts.Notes.Cluster))
	}
	return n
}

// escapeCluster spells any name as one component of a ref. It is undone by
// percent-decoding.
func escapeCluster(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		inner := i > 0 && i < len(name)-1 && name[i-1] != '.'
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_',
			c == '.' && inner && name[i:] != ".lock":
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func unescapeCluster(ref string) string {
	escaped := strings.TrimPrefix(ref, notesPrefix)
	if name, err := url.PathUnescape(escaped); err == nil {
		return name
	}
	return escaped
}

func (n *notebook) check(commit string) error {
	if n.ref == "" {
		return fmt.Errorf("notes of %s: no cluster name given; it names the notes ref", n.source.name())
	}
	if !plumbing.IsHash(commit) {
		return fmt.Errorf("notes of %s: %q is not a full commit hash", n.source.name(), commit)
	}
	return nil
}

func (n *notebook) readOne(ctx context.Context, commit string) ([]byte, bool, error) {
	if err := n.check(commit); err != nil {
		return nil, false, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.refresh(ctx); err != nil {
		return nil, false, explain("read "+n.ref.String()+" of", n.source, err)
	}
	content, err := n.current(commit)
	return content, content != nil, err
}

// current reads a note from the ref as last seen; nil if there is none.
func (n *notebook) current(commit string) ([]byte, error) {
	if n.tip.IsZero() {
		return nil, nil
	}
	content, err := readNote(n.store, n.tip, commit)
	if err != nil {
		return nil, fmt.Errorf("note on %.12s in %s of %s: %w", commit, n.ref, n.source.name(), err)
	}
	return content, nil
}

// refresh brings the ref from the remote, if it moved.
func (n *notebook) refresh(ctx context.Context) error {
	var tip plumbing.Hash
	var next *store
	err := within(ctx, 10*n.opts.Timeout, func(ctx context.Context) error {
		return steady(func() (err error) {
			tip, next, err = n.look(ctx)
			return err
		})
	})
	if err != nil {
		n.seen = false
		if errors.Is(err, errAbandoned) {
			n.store = newMemoryStore()
		}
		return err
	}
	n.store, n.tip, n.seen = next, tip, true
	return nil
}

// look asks where the ref is and fetches that.
func (n *notebook) look(ctx context.Context) (plumbing.Hash, *store, error) {
	ask, cancel := context.WithTimeout(ctx, n.opts.Timeout)
	defer cancel()
	refs, err := readRefs(ask, n.source)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return plumbing.ZeroHash, n.store, nil
	}
	if err != nil {
		return plumbing.ZeroHash, nil, orContext(ask, err)
	}
	tip := refs.References[n.ref.String()]
	if tip.IsZero() || n.store.holds(tip) {
		return tip, n.store, nil
	}
	next, err := n.bring(ctx, tip)
	return tip, next, err
}

// bring fetches the newest state of the ref, at depth 1 as everything.
func (n *notebook) bring(ctx context.Context, tip plumbing.Hash) (*store, error) {
	s := n.store
	req := request{wants: []plumbing.Hash{tip}, depth: 1}
	if last := s.last(); !last.IsZero() && !n.source.plain() {
		req.haves = []plumbing.Hash{last}
	}
	if s.packs >= maxPacks {
		s, req.haves = newMemoryStore(), nil
	}
	if err := download(ctx, n.source, s, req, n.opts.Timeout); err != nil {
		return nil, err
	}
	if _, err := s.verify(ctx, tip); err != nil {
		return nil, err
	}
	return s, s.hold(tip)
}
