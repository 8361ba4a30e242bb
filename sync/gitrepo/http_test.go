package gitrepo

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestHTTPCredentialsAreUsedAndNeverShown(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	url := o.serveHTTP(basicAuth("ann", "hunter22"))
	token := o.serveHTTP(basicAuth("oauth2", "tok-123456"))
	for name, opts := range map[string]Options{
		"user and password": {URL: url, Auth: Auth{Username: "ann", Password: "hunter22"}},
		"in the URL":        {URL: strings.Replace(url, "://", "://ann:hunter22@", 1)},
		"token":             {URL: token, Auth: Auth{Token: "tok-123456"}},
	} {
		if got := pull(t, open(t, opts)); got.Hash != c {
			t.Errorf("%s: got %s, want %s", name, got.Hash, c)
		}
	}
	for name, opts := range map[string]Options{
		"none":       {URL: url},
		"wrong":      {URL: url, Auth: Auth{Username: "ann", Password: "hunter23"}},
		"wrong, URL": {URL: strings.Replace(url, "://", "://ann:hunter23@", 1)},
	} {
		_, err := open(t, opts).Poll(t.Context())
		if !errors.Is(err, ErrAuth) {
			t.Errorf("%s: got %v, want ErrAuth", name, err)
		}
		wantText(t, err, strings.TrimPrefix(url, "http://"))
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, opts.Auth, opts.Auth), "hunter23") {
			t.Errorf("%s: the password shows in %v", name, err)
		}
	}
}

func TestServerThatEchoesTheCredentialCannotPutItIntoAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, p, _ := r.BasicAuth()
		http.Error(w, "bad token "+p+"\x1b[31m\n"+strings.Repeat("<p>long</p>", 10000), http.StatusForbidden)
	}))
	defer server.Close()
	_, err := open(t, Options{URL: server.URL + "/x", Auth: Auth{Token: "tok-123456"}}).Poll(t.Context())
	if !errors.Is(err, ErrAuth) || len(err.Error()) > 800 || strings.Contains(err.Error(), "tok-123456") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("Poll: got %d bytes: %q", len(err.Error()), err)
	}
	wantText(t, err, "***", "credential was refused")
}

func TestCredentialDoesNotFollowARedirectToAnotherHost(t *testing.T) {
	var leaked atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			leaked.Store(true)
		}
		http.NotFound(w, r)
	}))
	defer thief.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(thief.URL, "127.0.0.1", "localhost", 1)+r.URL.String(), http.StatusFound)
	}))
	defer server.Close()
	if _, err := open(t, Options{URL: server.URL + "/x", Auth: Auth{Username: "ann", Password: "hunter22"}}).Poll(t.Context()); err == nil {
		t.Error("Poll: got no error")
	}
	if leaked.Load() {
		t.Error("the credential was sent to another host")
	}
}

func TestOwnAuthorityNeedsItsBundle(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	server := httptest.NewUnstartedServer(o.handler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	url := server.URL + "/origin.git"
	_, err := open(t, Options{URL: url}).Poll(t.Context())
	wantText(t, err, url, "CA bundle")
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if got := pull(t, open(t, Options{URL: url, Auth: Auth{CA: bundle}})); got.Hash != c {
		t.Errorf("got %s, want %s", got.Hash, c)
	}
	_, err = Open(t.Context(), Options{URL: url, Auth: Auth{CA: []byte("nonsense")}})
	wantText(t, err, "holds no certificate")
}

// stall answers the matching requests with what it is given and then nothing.
func stall(match func(*http.Request) bool, first string) gate {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !match(r) {
			return false
		}
		if first != "" {
			_, _ = w.Write([]byte(first))
			w.(http.Flusher).Flush()
		}
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice a client that leaves
		<-r.Context().Done()
		return true
	}
}

func TestHTTPServerThatHangsIsLeftAtTheDeadline(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	all := func(*http.Request) bool { return true }
	pack := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/git-upload-pack") }
	for name, opts := range map[string]Options{
		"at once":       {URL: o.serveHTTP(stall(all, ""))},
		"in the refs":   {URL: o.serveHTTP(stall(all, "001e# service=git-upload-pack\n0000"))},
		"before a pack": {URL: o.serveHTTP(stall(pack, ""))},
		"in a pack":     {URL: o.serveHTTP(stall(pack, "0034shallow "+c+"0000"+"0008NAK\n"))},
	} {
		for _, dir := range []string{"", t.TempDir()} {
			t.Run(name, func(t *testing.T) {
				opts.Timeout, opts.Dir = 300*time.Millisecond, dir
				r := open(t, opts)
				start := time.Now()
				_, err := r.Fetch(t.Context(), Head{Hash: c})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Fetch: got %v, want the deadline", err)
				}
				if d := time.Since(start); d > 2*time.Second {
					t.Errorf("Fetch took %v, want about 0.3s", d)
				}
			})
		}
	}
}

func TestAnswersLargerThanTheLimitEndTheFetch(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": strings.Repeat(t.Name(), 100)})
	refs := "001e# service=git-upload-pack\n0000" + strings.Repeat("003f"+strings.Repeat("1", 40)+" refs/heads/aaaaaaa\n", maxRefBytes/63+10)
	tooMany := o.serveHTTP(func(w http.ResponseWriter, r *http.Request) bool {
		_, err := w.Write([]byte(refs))
		return err == nil || true
	})
	if _, err := open(t, Options{URL: tooMany}).Poll(t.Context()); err == nil {
		t.Error("Poll of endless refs: got no error")
	}
	r := open(t, Options{URL: o.serveHTTP(), MaxPackBytes: 100})
	head, err := r.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Fetch(t.Context(), head)
	wantText(t, err, "size limit")
}

func TestPackThatIsCutShortIsNotTrustedAndFetchedAgain(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": "1"})
	var cut atomic.Bool
	cut.Store(true)
	handler := o.handler()
	url := o.serveHTTP(func(w http.ResponseWriter, r *http.Request) bool {
		if !cut.Load() || !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			return false
		}
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()-40])
		return true
	})
	for _, dir := range []string{"", t.TempDir()} {
		r := open(t, Options{URL: url, Dir: dir})
		head, err := r.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cut.Store(true)
		if c, err := r.Fetch(t.Context(), head); err == nil {
			t.Fatalf("Fetch of a cut pack: got %+v", c)
		}
		cut.Store(false)
		if got := contents(t, r, pull(t, r))["web.yaml"]; got != "1" {
			t.Errorf("after the cut: web.yaml is %q", got)
		}
	}
}

// plainRemote is a host that wants whole fetches, as Azure DevOps does.
type plainRemote struct{ remote }

func (plainRemote) plain() bool { return true }

func TestHostsWithoutNegotiationGetWholeFetches(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": "1"})
	r := open(t, Options{URL: o.serveHTTP()})
	r.remote = plainRemote{r.remote}
	pull(t, r)
	b := o.commit("b", map[string]string{"web.yaml": "2"})
	if c := pull(t, r); c.Hash != b || contents(t, r, c)["web.yaml"] != "2" {
		t.Errorf("second fetch: got %s, want %s", c.Hash, b)
	}
	for _, url := range []string{"https://dev.azure.com/o/p/_git/r", "https://o.visualstudio.com/p/_git/r"} {
		if rem, err := newRemote(Options{URL: url}, Auth{}); err != nil || !rem.plain() {
			t.Errorf("%s: not known to want whole fetches (%v)", url, err)
		}
	}
}

func TestServerThatIsNotThereIsNamedWithAWayOut(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for name, url := range map[string]string{
		"nobody listens": server.URL + "/shop.git",
		"no such host":   "http://shop.invalid/shop.git",
	} {
		_, err := open(t, Options{URL: url, Timeout: 20 * time.Second}).Poll(t.Context())
		if err == nil || !strings.Contains(err.Error(), url) || !strings.Contains(err.Error(), "; check the address") {
			t.Errorf("%s: got %v, want the address and what to check", name, err)
		}
	}
}
