package gitrepo

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// request is one question for objects. Haves are commits the store holds
// without their parents.
type request struct {
	wants []plumbing.Hash
	haves []plumbing.Hash
	depth int
}

// errNotOffered says that the server gives out only the tips of refs.
var errNotOffered = errors.New("the server does not give out single commits")

// steady repeats work that looks up a ref and then asks for what it names,
// while others move the ref in between.
func steady(work func() error) error {
	var err error
	for range maxWrites {
		if err = work(); !errors.Is(err, errNotOffered) {
			return err
		}
	}
	return err
}

// download asks for objects and stores them. Silence for longer than the
// timeout ends it.
func (r *Repo) download(ctx context.Context, s *store, req request) error {
	return download(ctx, r.remote, s, req, r.opts.Timeout)
}

func download(ctx context.Context, rem remote, s *store, req request, silence time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(silence, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	err := func() error {
		session, err := rem.read(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		refs, err := advertised(ctx, session)
		if err != nil {
			return err
		}
		for _, h := range req.wants {
			if !offered(refs, h) {
				return errNotOffered
			}
		}
		question, err := req.encode(refs.Capabilities, rem.plain())
		if err != nil {
			return err
		}
		res, err := session.UploadPack(ctx, question)
		if err != nil {
			return err
		}
		defer res.Close()
		var pack io.Reader = res
		if question.Capabilities.Supports(capability.Sideband64k) {
			pack = sideband.NewDemuxer(sideband.Sideband64k, res)
		}
		return s.add(ctx, &lively{ctx, pack, timer, silence})
	}()
	return orContext(ctx, err)
}

// offered tells whether the server would give out the object when asked.
func offered(refs *packp.AdvRefs, h plumbing.Hash) bool {
	for _, c := range []capability.Capability{capability.AllowReachableSHA1InWant, "allow-any-sha1-in-want"} {
		if refs.Capabilities.Supports(c) {
			return true
		}
	}
	if refs.Head != nil && *refs.Head == h {
		return true
	}
	for _, tip := range refs.References {
		if tip == h {
			return true
		}
	}
	return false
}

func (q request) encode(server *capability.List, plain bool) (*packp.UploadPackRequest, error) {
	req := packp.NewUploadPackRequest()
	req.Wants = q.wants
	req.Haves = q.haves
	req.Shallows = q.haves
	req.Depth = packp.DepthCommits(q.depth)
	if !server.Supports(capability.Shallow) {
		return nil, errors.New("the server cannot send single commits without their history (shallow fetch)")
	}
	wanted := []capability.Capability{capability.Shallow, capability.OFSDelta, capability.Sideband64k, capability.NoProgress}
	for _, c := range wanted {
		if server.Supports(c) {
			if err := req.Capabilities.Set(c); err != nil {
				return nil, err
			}
		}
	}
	if plain { // see place.plain; go-git hides what the server said about it
		if err := req.Capabilities.Set(capability.MultiACK); err != nil {
			return nil, err
		}
	}
	return req, req.Capabilities.Set(capability.Agent, "situ")
}

// lively passes data on and pushes the timer back with each piece.
type lively struct {
	ctx     context.Context
	r       io.Reader
	timer   *time.Timer
	silence time.Duration
}

func (l *lively) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, context.Cause(l.ctx)
	}
	n, err := l.r.Read(p)
	if n > 0 {
		l.timer.Reset(l.silence)
	}
	return n, err
}
