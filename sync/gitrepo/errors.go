package gitrepo

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// What callers branch on. Everything else is for people to read.
var (
	// ErrHeadUnknown: the remote is empty or has no such branch or tag. It never
	// means that nothing is wanted; keep what was last good.
	ErrHeadUnknown = errors.New("head unknown")
	// ErrReadOnly: the remote refuses to store notes.
	ErrReadOnly = errors.New("remote is read-only")
	// ErrAuth: the remote does not accept the credential.
	ErrAuth = errors.New("not authorized")
	// ErrHostKey: the SSH server is not, or not provably, the one expected.
	ErrHostKey = errors.New("host key not accepted")
	// ErrObjectFormat: the repository uses SHA-256 object names.
	ErrObjectFormat = errors.New("unsupported object format")
	// ErrNotHeld: the commit was never fetched, or has been dropped since.
	ErrNotHeld = errors.New("commit not held")
)

// failure is an error text that is safe to show: its causes are kept only as
// sentinels, because the original texts may hold what the remote sent.
type failure struct {
	text string
	is   []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.is }

// at adds the place to a text that does not name it yet.
func (f *failure) at(op string, rem remote) error {
	if strings.Contains(f.text, rem.name()) {
		return f
	}
	return &failure{text: fmt.Sprintf("%s %s: %s", op, rem.name(), f.text), is: f.is}
}

// cause is one row of how a remote may fail: when it applies, what callers
// get, and what a person can do.
type cause struct {
	match func(error) bool
	is    error
	text  string // "" keeps the original text
	way   string
}

var causes = []cause{
	{is(context.DeadlineExceeded), context.DeadlineExceeded, "no answer in time", "check the address and the network, or raise the timeout"},
	{is(context.Canceled), context.Canceled, "cancelled", ""},
	{is(ErrHostKey), ErrHostKey, "", ""},
	{isSHA256, ErrObjectFormat, "the repository uses SHA-256 object names, which are not supported", "use a repository created with --object-format=sha1"},
	{is(transport.ErrEmptyRemoteRepository), ErrHeadUnknown, "the remote repository is empty", "push a commit"},
	{is(transport.ErrAuthenticationRequired), ErrAuth, "authentication required", "give a user and password, a token or another credential"},
	{is(transport.ErrAuthorizationFailed), ErrAuth, "", "the credential was refused; give one that may read this repository"},
	{contains("unable to authenticate"), ErrAuth, "the server accepts none of the SSH credentials", "add the public key to the repository's deploy keys"},
	{contains("authentication required", "access denied", "permission denied", "not authorized"), ErrAuth, "", "the credential was refused; give one that may read this repository"},
	{is(transport.ErrRepositoryNotFound), nil, "repository not found", "check the address; many servers also answer so if the credential may not see it"},
	{contains("connection refused", "connection reset", "no such host", "no route to host", "network is unreachable"), nil, "", "check the address and the network, and that the server runs"},
	{isCertificate, nil, "", "if the server has a certificate of your own authority, give its CA bundle"},
	{contains("no common algorithm for host key"), ErrHostKey, "", "add one of the server's keys to known_hosts"},
	{contains("not our ref", "unadvertised object"), nil, "the commit is no longer there", "the branch moved meanwhile; the next poll finds its new head"},
	{func(error) bool { return true }, nil, "", ""},
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func contains(words ...string) func(error) bool {
	return func(err error) bool {
		text := strings.ToLower(err.Error())
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
}

func isSHA256(err error) bool {
	var unexpected *packp.ErrUnexpectedData
	if errors.As(err, &unexpected) && strings.Contains(string(unexpected.Data), "object-format=sha256") {
		return true
	}
	return strings.Contains(err.Error(), "object-format=sha256") || strings.Contains(err.Error(), "extension: objectformat")
}

func isCertificate(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

// explain turns what go wrong while talking to a remote into an error for
// people: the operation, the place, the cause and the way out.
func explain(op string, rem remote, err error) error {
	var done *failure
	if err == nil {
		return nil
	}
	if errors.As(err, &done) {
		return done.at(op, rem)
	}
	for _, c := range causes {
		if !c.match(err) {
			continue
		}
		text := c.text
		if text == "" {
			text = clean(err.Error(), rem.secrets())
		}
		f := &failure{text: fmt.Sprintf("%s %s: %s", op, rem.name(), text)}
		if c.way != "" {
			f.text += "; " + c.way
		}
		if c.is != nil {
			f.is = append(f.is, c.is)
		}
		return f
	}
	return err // not reached: the last row takes all
}

// failf makes a safe error of our own words.
func failf(sentinel error, format string, args ...any) error {
	f := &failure{text: fmt.Sprintf(format, args...)}
	if sentinel != nil {
		f.is = []error{sentinel}
	}
	return f
}

// clean makes a remote's text fit for a log line: one line, printable, short,
// without credentials.
func clean(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	text = strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, text)
	text = strings.TrimRight(strings.Join(strings.Fields(text), " "), ": ")
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "..."
	}
	return text
}

// displayURL is a URL without its credentials.
func displayURL(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		u.User = nil
		u.RawQuery, u.Fragment = "", ""
		return u.String()
	}
	if scheme, rest, ok := strings.Cut(raw, "://"); ok {
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			rest = rest[i+1:]
		}
		return scheme + "://" + rest
	}
	return raw
}

func short(h plumbing.Hash) string { return h.String()[:12] }
