package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"golang.org/x/crypto/ssh"
	"golang.org/x/net/proxy"
)

// sshRemote runs git-upload-pack and git-receive-pack over SSH. go-git's own
// SSH client waits without a deadline in the handshake and reads the user's
// ssh_config, so the connection is made here.
type sshRemote struct {
	place
	addr  string
	path  string
	user  string
	auth  []ssh.AuthMethod
	known *knownHosts
	limit int64
}

func newSSHRemote(opts Options, auth Auth, u *url.URL, display string) (*sshRemote, error) {
	if len(strings.TrimSpace(string(auth.KnownHosts))) == 0 {
		return nil, failf(ErrHostKey, "no known_hosts given, so the SSH server cannot be told from an impostor; give the server's line, for example from ssh-keyscan %s after comparing its fingerprint", u.Hostname())
	}
	known, err := parseKnownHosts(auth.KnownHosts)
	if err != nil {
		return nil, err
	}
	methods, err := auth.sshMethods()
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port == "" {
		port = "22"
	}
	user := auth.Username
	if user == "" {
		user = "git"
	}
	return &sshRemote{
		place: place{display: display, hidden: auth.secrets(), host: u.Hostname()},
		addr:  net.JoinHostPort(u.Hostname(), port),
		path:  u.Path,
		user:  user,
		auth:  methods,
		known: known,
		limit: opts.MaxPackBytes,
	}, nil
}

func (r *sshRemote) read(ctx context.Context) (transport.UploadPackSession, error) {
	return r.start(ctx, transport.UploadPackServiceName)
}

func (r *sshRemote) write(ctx context.Context) (transport.ReceivePackSession, error) {
	return r.start(ctx, transport.ReceivePackServiceName)
}

// start connects and runs the service. The connection ends with ctx, in
// whatever state it is, the handshake included.
func (r *sshRemote) start(ctx context.Context, service string) (*sshSession, error) {
	conn, err := proxy.Dial(ctx, "tcp", r.addr)
	if err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	session, err := r.run(conn, service)
	if err != nil {
		release()
		_ = conn.Close()
		return nil, err
	}
	session.release = release
	return session, nil
}

func (r *sshRemote) run(conn net.Conn, service string) (*sshSession, error) {
	client, err := r.handshake(conn)
	if err != nil {
		return nil, err
	}
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	s := &sshSession{client: client, receive: service == transport.ReceivePackServiceName}
	if s.stdin, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdout = &limitReader{stdout, r.limit}
	session.Stderr = &s.stderr
	s.session = session
	if err := session.Start(service + " " + quote(r.path)); err != nil {
		return nil, err
	}
	return s, nil
}

func (r *sshRemote) handshake(conn net.Conn) (*ssh.Client, error) {
	check := r.known.check(r.addr)
	c, channels, requests, err := ssh.NewClientConn(conn, r.addr, &ssh.ClientConfig{
		User:              r.user,
		Auth:              r.auth,
		HostKeyCallback:   check.accept,
		HostKeyAlgorithms: check.algorithms(),
	})
	if check.refused != nil {
		return nil, check.refused
	}
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(c, channels, requests), nil
}

// quote makes a path one word for the shell on the other side.
func quote(path string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'"
}

// orStderr prefers what the server said on stderr, where Git servers explain
// themselves, to the broken protocol that follows.
func (s *sshSession) orStderr(err error) error {
	if err == nil || errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return err
	}
	_ = s.stdin.Close()
	end := time.AfterFunc(grace, func() { _ = s.client.Close() })
	defer end.Stop()
	_ = s.session.Wait() // until stderr is complete
	text := s.stderr.String()
	if text == "" {
		return err
	}
	for _, sign := range []string{"not found", "does not appear to be a git repository", "does not exist", "no such repository"} {
		if strings.Contains(strings.ToLower(text), sign) {
			return fmt.Errorf("%w: %s", transport.ErrRepositoryNotFound, text)
		}
	}
	return fmt.Errorf("%w: the server says %q", err, text)
}

// tail keeps the first bytes written to it and drops the rest.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	if room := maxErrorBytes - len(t.buf); room > 0 {
		t.buf = append(t.buf, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.buf)) }

var _ io.Writer = (*tail)(nil)
