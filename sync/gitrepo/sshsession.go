package gitrepo

import (
	"context"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"golang.org/x/crypto/ssh"
)

// sshSession is one run of a Git service over SSH. It serves as an upload-pack
// or as a receive-pack session, depending on the service that was started.
type sshSession struct {
	client  *ssh.Client
	session *ssh.Session
	stdin   io.WriteCloser
	stdout  io.Reader
	stderr  tail
	receive bool
	release func() bool
	refs    *packp.AdvRefs
}

func (s *sshSession) AdvertisedReferences() (*packp.AdvRefs, error) {
	return nil, errors.New("want a context") // only to satisfy the interface
}

func (s *sshSession) AdvertisedReferencesContext(context.Context) (*packp.AdvRefs, error) {
	if s.refs != nil {
		return s.refs, nil
	}
	refs := packp.NewAdvRefs()
	err := refs.Decode(s.stdout)
	if errors.Is(err, packp.ErrEmptyAdvRefs) {
		err = nil
	}
	if err == nil && refs.IsEmpty() && !s.receive {
		err = transport.ErrEmptyRemoteRepository
	}
	if err != nil {
		return nil, s.orStderr(err)
	}
	s.refs = refs
	return refs, nil
}

func (s *sshSession) UploadPack(_ context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	if err := req.UploadRequest.Encode(s.stdin); err != nil {
		return nil, s.orStderr(err)
	}
	if err := req.UploadHaves.Encode(s.stdin, true); err != nil {
		return nil, s.orStderr(err)
	}
	if err := pktline.NewEncoder(s.stdin).EncodeString("done\n"); err != nil {
		return nil, s.orStderr(err)
	}
	res := packp.NewUploadPackResponse(req)
	if err := res.Decode(io.NopCloser(s.stdout)); err != nil {
		return nil, s.orStderr(err)
	}
	return res, nil
}

func (s *sshSession) ReceivePack(_ context.Context, req *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error) {
	if err := req.Encode(s.stdin); err != nil {
		return nil, s.orStderr(err)
	}
	if err := s.stdin.Close(); err != nil {
		return nil, s.orStderr(err)
	}
	out := s.stdout
	if req.Capabilities.Supports(capability.Sideband64k) {
		demuxer := sideband.NewDemuxer(sideband.Sideband64k, out)
		demuxer.Progress = req.Progress
		out = demuxer
	}
	report := packp.NewReportStatus()
	if err := report.Decode(out); err != nil {
		return nil, s.orStderr(err)
	}
	return report, report.Error()
}

// Close ends the connection. A server that waits for a request sees it closed,
// which is how Git clients leave, too.
func (s *sshSession) Close() error {
	s.release()
	_ = s.session.Close()
	_ = s.client.Close()
	return nil
}
