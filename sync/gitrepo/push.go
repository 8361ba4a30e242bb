package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// errMoved says that the ref is no longer where the change starts from.
var errMoved = errors.New("the ref moved meanwhile")

// push offers one commit to one ref, naming the hash the ref must have now.
// Compare-and-swap is the server's; a stale hash is seen here before anything
// is sent. No other ref is ever named, and nothing is forced.
func push(ctx context.Context, rem remote, c noteCommit) error {
	session, err := rem.write(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	refs, err := advertised(ctx, session)
	if err != nil {
		return err
	}
	if refs.References[c.ref.String()] != c.old {
		return errMoved
	}
	var said tail
	req := packp.NewReferenceUpdateRequest()
	req.Progress = &said
	for _, want := range []capability.Capability{capability.ReportStatus, capability.Sideband64k} {
		if refs.Capabilities.Supports(want) {
			if err := req.Capabilities.Set(want); err != nil {
				return err
			}
		}
	}
	if !req.Capabilities.Supports(capability.ReportStatus) {
		return errors.New("the server does not report whether a push succeeded")
	}
	if err := req.Capabilities.Set(capability.Agent, "situ"); err != nil {
		return err
	}
	req.Commands = []*packp.Command{{Name: c.ref, Old: c.old, New: c.new}}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, c.from, false).Encode(c.objects, 0); err != nil {
		return err
	}
	req.Packfile = io.NopCloser(&pack)
	report, err := session.ReceivePack(ctx, req)
	return judge(report, err, &said)
}

// judge reads the server's answer to a push.
func judge(report *packp.ReportStatus, err error, said *tail) error {
	if report == nil && err == nil {
		return errors.New("the server ended the push without an answer")
	}
	if err == nil || errors.Is(err, errMoved) {
		return err
	}
	if contains("failed to update ref", "cannot lock ref", "failed to lock", "non-fast-forward", "fetch first", "stale info", "incorrect old", "already exists")(err) {
		return errMoved
	}
	if text := said.String(); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// refusals are the ways a server says that this credential, or nobody, may
// write notes. Trying again does not help until a person changes something.
var refusals = []cause{
	{is(ErrReadOnly), ErrReadOnly, "", "make the repository writable"},
	{is(transport.ErrAuthenticationRequired), ErrAuth, "writing needs a credential", "give one that may push refs/notes/situ/*"},
	{is(transport.ErrAuthorizationFailed), ErrAuth, "", "give a credential that may push refs/notes/situ/*"},
	{contains("unable to authenticate"), ErrAuth, "the server accepts none of the SSH credentials", "give a key that may push refs/notes/situ/*"},
	{contains("hook declined"), ErrReadOnly, "", "let the server's hook accept refs/notes/situ/*"},
	{contains("deny", "denied", "not allowed", "not permitted", "prohibited", "protected", "read-only", "read only", "permission", "unauthorized", "not authorized", "hidden ref"),
		ErrReadOnly, "", "allow this credential to push refs/notes/situ/*"},
	// Reading worked, so the repository is there.
	{is(transport.ErrRepositoryNotFound), ErrReadOnly, "the server hides the repository from this credential", "give one that may push refs/notes/situ/*"},
}

// explainPush is explain for writing: refusals become ErrReadOnly.
func explainPush(op string, rem remote, err error) error {
	var done *failure
	if errors.As(err, &done) {
		return done.at(op, rem)
	}
	for _, c := range refusals {
		if !c.match(err) {
			continue
		}
		text := c.text
		if text == "" {
			text = clean(err.Error(), rem.secrets())
		}
		return &failure{
			text: fmt.Sprintf("%s %s: %s; %s", op, rem.name(), text, c.way),
			is:   []error{ErrReadOnly, c.is},
		}
	}
	return explain(op, rem, err)
}
