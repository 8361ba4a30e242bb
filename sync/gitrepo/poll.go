package gitrepo

import (
	"context"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// Head is where a branch or tag pointed when the remote was asked.
type Head struct {
	Ref  string // refs/heads/main; "" for an exact commit
	Hash string // the commit
	// Previous is the commit that Fetch compares with to tell a rewritten
	// branch. Poll fills in the one fetched last; callers that know better,
	// for example after a restart, may set it.
	Previous string

	object plumbing.Hash // what the ref itself names: an annotated tag, or the commit
}

// wanted is the object to ask for. Over SSH only what a ref names is given
// out, and that is the annotated tag, not its commit.
func (h Head) wanted() plumbing.Hash {
	if h.object.IsZero() {
		return plumbing.NewHash(h.Hash)
	}
	return h.object
}

// Poll asks the remote for its head and transfers no objects. An empty remote
// or a missing branch is ErrHeadUnknown. An exact commit needs no asking.
func (r *Repo) Poll(ctx context.Context) (Head, error) {
	previous := r.previous()
	if r.opts.Commit != "" {
		return Head{Hash: r.opts.Commit, Previous: previous}, nil
	}
	var head Head
	err := within(ctx, r.opts.Timeout, func(ctx context.Context) error {
		refs, err := readRefs(ctx, r.remote)
		if err != nil {
			return err
		}
		head, err = r.pick(refs)
		return err
	})
	if err != nil {
		return Head{}, explain("poll", r.remote, err)
	}
	head.Previous = previous
	return head, nil
}

func (r *Repo) previous() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.store.last(); !h.IsZero() {
		return h.String()
	}
	return ""
}

func readRefs(ctx context.Context, rem remote) (*packp.AdvRefs, error) {
	session, err := rem.read(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return advertised(ctx, session)
}

func advertised(ctx context.Context, session transport.Session) (*packp.AdvRefs, error) {
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, err
	}
	if formats := refs.Capabilities.Get(capability.ObjectFormat); len(formats) > 0 && formats[0] != "sha1" {
		return nil, failf(ErrObjectFormat, "the repository uses %s object names, which are not supported; use one created with --object-format=sha1", clean(formats[0], nil))
	}
	return refs, nil
}

// pick finds the ref that is followed among those of the remote.
func (r *Repo) pick(refs *packp.AdvRefs) (Head, error) {
	name := branchRef(r.opts.Branch)
	if r.opts.Tag != "" {
		name = tagRef(r.opts.Tag)
	}
	if name == "" {
		name = headBranch(refs)
	}
	if name == "" {
		if refs.Head != nil {
			return Head{Ref: "HEAD", Hash: refs.Head.String(), object: *refs.Head}, nil
		}
		return Head{}, failf(ErrHeadUnknown, "poll %s: the remote's HEAD names no existing branch; give the branch to follow", r.remote.name())
	}
	object, ok := refs.References[name.String()]
	if !ok {
		return Head{}, failf(ErrHeadUnknown, "poll %s: there is no %s; push it, or correct the name", r.remote.name(), name)
	}
	head := Head{Ref: name.String(), Hash: object.String(), object: object}
	if commit, ok := refs.Peeled[name.String()]; ok {
		head.Hash = commit.String()
	}
	return head, nil
}

// headBranch is the branch HEAD names. Servers too old to say so leave a
// guess: a branch with the same commit, the usual names first.
func headBranch(refs *packp.AdvRefs) plumbing.ReferenceName {
	for _, symref := range refs.Capabilities.Get(capability.SymRef) {
		if target, ok := strings.CutPrefix(symref, "HEAD:"); ok {
			if _, exists := refs.References[target]; exists {
				return plumbing.ReferenceName(target)
			}
			return ""
		}
	}
	if refs.Head == nil {
		return ""
	}
	for _, name := range []plumbing.ReferenceName{plumbing.Main, plumbing.Master} {
		if refs.References[name.String()] == *refs.Head {
			return name
		}
	}
	return ""
}
