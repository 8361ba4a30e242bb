package chaos

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// gitDoor is the one way of all lives to Git. The stage itself goes another way.
type gitDoor struct {
	server *httptest.Server

	mu     sync.Mutex
	refuse int // so many requests are answered with a fault of the server
	polls  int // times that somebody has asked what is new
	pushes int
}

func newGitDoor(target string) (*gitDoor, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	d := &gitDoor{}
	forward := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.refuses(r) {
			http.Error(w, "chaos: out of order", http.StatusServiceUnavailable)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	return d, nil
}

// refuses counts the request, and uses up what was to go wrong.
func (d *gitDoor) refuses(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/git-receive-pack"):
		d.pushes++
	case r.URL.Query().Get("service") == "git-upload-pack":
		d.polls++
	}
	if d.refuse > 0 {
		d.refuse--
		return true
	}
	return false
}

// plan sets how many requests will be refused.
func (d *gitDoor) plan(refuse int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuse = refuse
}

func (d *gitDoor) counts() (polls, pushes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.polls, d.pushes
}

func (d *gitDoor) close() {
	d.server.CloseClientConnections()
	d.server.Close()
}
