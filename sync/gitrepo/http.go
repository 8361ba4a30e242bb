package gitrepo

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// httpRemote speaks smart HTTP. Its client is its own; go-git's global one,
// which has no timeouts, is not touched.
type httpRemote struct {
	place
	client   transport.Transport
	endpoint transport.Endpoint
	auth     transport.AuthMethod
}

func newHTTPRemote(opts Options, auth Auth, u *url.URL) (*httpRemote, error) {
	bare := *u
	bare.User = nil
	endpoint, err := transport.NewEndpoint(bare.String())
	if err != nil {
		return nil, errors.New("the URL cannot be read as a repository's address")
	}
	tlsConfig, err := auth.tlsConfig()
	if err != nil {
		return nil, err
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSClientConfig = tlsConfig
	client := &http.Client{Transport: limited{base, opts.MaxPackBytes}}
	r := &httpRemote{
		place:    place{display: displayURL(opts.URL), hidden: sentBy(auth, u), host: u.Hostname()},
		endpoint: *endpoint,
		// Redirects of the first request only, and go-git drops the credential
		// when they leave the host.
		client: githttp.NewClientWithOptions(client, &githttp.ClientOptions{RedirectPolicy: githttp.FollowInitialRedirects}),
	}
	if user, password := auth.basic(u.Hostname()); user != "" || password != "" {
		r.auth = &githttp.BasicAuth{Username: user, Password: password}
	}
	return r, nil
}

// sentBy are the strings of a request that a server may repeat and no message may
// contain: the credential, also as its header spells it, and what a person has
// put into the address.
func sentBy(auth Auth, u *url.URL) []string {
	hidden := auth.secrets()
	if user, password := auth.basic(u.Hostname()); password != "" {
		hidden = append(hidden, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	if u.RawQuery != "" {
		hidden = append(hidden, u.RawQuery)
	}
	return hidden
}

func (r *httpRemote) read(context.Context) (transport.UploadPackSession, error) {
	ep := r.endpoint // a session follows redirects by changing its endpoint
	return r.client.NewUploadPackSession(&ep, r.auth)
}

func (r *httpRemote) write(context.Context) (transport.ReceivePackSession, error) {
	ep := r.endpoint
	return r.client.NewReceivePackSession(&ep, r.auth)
}

var errTooMuch = errors.New("the remote sent more than the size limit allows")

// maxErrorBytes is how much of an error page is read.
const maxErrorBytes = 4 << 10

// maxRefBytes is how long a remote's list of refs may be.
const maxRefBytes = 32 << 20

// limited bounds every response body, after decompression.
type limited struct {
	next  http.RoundTripper
	limit int64
}

func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		res.Body = closer{io.LimitReader(res.Body, maxErrorBytes), res.Body}
		return res, nil
	}
	limit := l.limit
	if strings.HasSuffix(req.URL.Path, "/info/refs") {
		limit = maxRefBytes
	}
	res.Body = closer{&limitReader{res.Body, limit}, res.Body}
	return res, nil
}

type closer struct {
	io.Reader
	io.Closer
}

// limitReader fails where io.LimitReader would pretend an end.
type limitReader struct {
	r    io.Reader
	left int64
}

func (l *limitReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooMuch
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}
