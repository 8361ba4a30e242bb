package chaos

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// door is the one way of a life to the API server.
type door struct {
	server *httptest.Server
	ledger *ledger
	look   func(*http.Request) // before a write that is not a dry run
	kill   func()              // ends the life; it does not wait

	mu     sync.Mutex
	dead   bool
	fault  fault
	writes int
}

// fault is what will go wrong.
type fault struct {
	refuse   int // so many requests are answered with a fault of the server
	conflict int // so many writes are answered with a conflict
	swallow  int // so many writes are done, and their answers lost
	killAt   int // the life ends at this write of the door; 0: it does not
	after    bool
}

// ledger counts what a stage's lives have sent.
type ledger struct {
	mu       sync.Mutex
	requests int // all but watches
	writes   int
	lines    []string
}

func (l *ledger) note(r *http.Request, isWrite bool, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	if isWrite {
		l.writes++
		l.lines = append(l.lines, fmt.Sprintf("%s %s%s", r.Method, r.URL.Path, what))
	}
}

func (l *ledger) counts() (requests, writes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests, l.writes
}

// tell writes a line between the requests.
func (l *ledger) tell(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, "-- "+fmt.Sprintf(format, args...))
}

func (l *ledger) text() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

// newDoor opens a door to the API server that config leads to.
func newDoor(config *rest.Config, ledger *ledger, fault fault) (*door, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	d := &door{ledger: ledger, fault: fault, look: func(*http.Request) {}}
	d.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, forward) }))
	d.server.Config.ErrorLog = nil
	d.server.Start()
	return d, nil
}

// writeKubeconfig gives access through the door.
func (d *door) writeKubeconfig(dir, namespace string) (string, error) {
	const name = "chaos"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: d.server.URL}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	config.CurrentContext = name
	file, err := os.CreateTemp(dir, "kubeconfig-")
	if err != nil {
		return "", err
	}
	path := filepath.Clean(file.Name())
	if err := file.Close(); err != nil {
		return "", err
	}
	return path, clientcmd.WriteToFile(*config, path)
}

// turn is what becomes of one request.
type turn struct {
	abort, swallow, killBefore, killAfter bool
	status                                int
}

func (d *door) serve(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if isWatch(r) {
		d.watch(w, r, forward)
		return
	}
	isWrite := r.Method != http.MethodGet && !r.URL.Query().Has("dryRun")
	turn := d.turn(isWrite)
	switch {
	case turn.killBefore:
		d.ledger.tell("killed before %s %s", r.Method, r.URL.Path)
		d.kill()
		panic(http.ErrAbortHandler)
	case turn.abort:
		panic(http.ErrAbortHandler)
	case turn.status != 0:
		d.ledger.note(r, isWrite, fmt.Sprintf(" refused with %d", turn.status))
		refuse(w, turn.status)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	if isWrite {
		d.look(r)
	}
	forward.ServeHTTP(answer, r)
	d.ledger.note(r, isWrite, fmt.Sprintf(" %d", answer.Code))
	if turn.killAfter {
		d.ledger.tell("killed after %s %s", r.Method, r.URL.Path)
		d.kill()
	}
	if turn.killAfter || turn.swallow || d.isDead() {
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // whoever asked may be gone
}

// turn decides about one request, and uses up what was to go wrong.
func (d *door) turn(isWrite bool) turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &d.fault
	if d.dead {
		return turn{abort: true}
	}
	if f.refuse > 0 {
		f.refuse--
		return turn{status: http.StatusInternalServerError}
	}
	if !isWrite {
		return turn{}
	}
	d.writes++
	switch {
	case f.killAt > 0 && d.writes >= f.killAt:
		d.dead = true
		return turn{killBefore: !f.after, killAfter: f.after}
	case f.conflict > 0:
		f.conflict--
		return turn{status: http.StatusConflict}
	case f.swallow > 0:
		f.swallow--
		return turn{swallow: true}
	}
	return turn{}
}

// watch passes events on until the client has enough of them.
func (d *door) watch(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if d.isDead() {
		panic(http.ErrAbortHandler)
	}
	forward.ServeHTTP(w, r)
}

// shut lets nothing through any more.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

func (d *door) isDead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// plan changes what will go wrong.
func (d *door) plan(change func(*fault, int)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.fault, d.writes)
}

func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

func refuse(w http.ResponseWriter, status int) {
	reason, message := "InternalError", "chaos: an internal error occurred"
	if status == http.StatusConflict {
		reason, message = "Conflict", "chaos: the object has been modified"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, status)
}
