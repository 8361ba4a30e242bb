package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// remote opens sessions to one repository with one credential. Sessions end
// when their context does.
type remote interface {
	name() string
	secrets() []string
	// plain says that the server gets along only with whole fetches.
	plain() bool
	read(ctx context.Context) (transport.UploadPackSession, error)
	write(ctx context.Context) (transport.ReceivePackSession, error)
}

// place is what all kinds of remotes have in common.
type place struct {
	display string
	hidden  []string
	host    string
}

func (p place) name() string      { return p.display }
func (p place) secrets() []string { return p.hidden }

// plain: Azure DevOps insists on multi_ack, which go-git cannot follow once
// there is something to negotiate. Without haves there is not.
func (p place) plain() bool {
	host := strings.ToLower(p.host)
	return host == "dev.azure.com" || host == "ssh.dev.azure.com" || strings.HasSuffix(host, ".visualstudio.com")
}

// scp matches user@host:path and host:path, which git takes for SSH.
var scp = regexp.MustCompile(`^(?:([^@/:]+)@)?([^@/:]+|\[[0-9a-fA-F:]+\]):(.+)$`)

func newRemote(opts Options, auth Auth) (remote, error) {
	raw := opts.URL
	if scheme, rest, ok := strings.Cut(raw, "://"); ok {
		if strings.EqualFold(scheme, "file") {
			return newLocalRemote(strings.TrimPrefix(rest, "localhost"))
		}
		u, err := url.Parse(raw)
		if err != nil {
			return nil, errors.New("the URL cannot be read; special characters in it must be percent-encoded")
		}
		if u.Hostname() == "" {
			return nil, errors.New("the URL names no host")
		}
		return newURLRemote(opts, auth.withUserinfo(u.User), u)
	}
	m := scp.FindStringSubmatch(raw)
	if m == nil || exists(raw) {
		return newLocalRemote(raw)
	}
	u := &url.URL{Scheme: "ssh", Host: m[2], Path: m[3]}
	if m[1] != "" {
		u.User = url.User(m[1])
	}
	return newSSHRemote(opts, auth.withUserinfo(u.User), u, fmt.Sprintf("%s:%s", m[2], m[3]))
}

func newURLRemote(opts Options, auth Auth, u *url.URL) (remote, error) {
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return newHTTPRemote(opts, auth, u)
	case "ssh", "git+ssh", "ssh+git":
		return newSSHRemote(opts, auth, u, displayURL(opts.URL))
	}
	return nil, fmt.Errorf("scheme %q is not supported; use https, http, ssh or file", u.Scheme)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func absolute(path string) (string, error) {
	if path == "" {
		return "", errors.New("the URL names no path")
	}
	return filepath.Abs(path)
}

// grace is how long work that ignores its context may go on before it is
// left alone.
const grace = 3 * time.Second

// errAbandoned says that the work still runs; what it writes to is lost.
var errAbandoned = errors.New("git work did not stop in time")

// within runs work under a deadline. Parsing what a remote sent does not
// always look at its context, so the caller is freed even if the work is not.
// On errAbandoned nothing that work touches may be used again.
func within(ctx context.Context, limit time.Duration, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		return orContext(ctx, err)
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return orContext(ctx, err)
	case <-time.After(grace):
		return fmt.Errorf("%w: %w", errAbandoned, ctx.Err())
	}
}

// orContext names the deadline instead of the broken connection it causes.
func orContext(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
