package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"sync"
	"time"
)

// follower is a situ serve in the background.
type follower struct {
	teller
	url string
}

// served is its status page.
type served struct {
	Subject  string
	LastPoll time.Time
	Note     struct{ State string }
	Plan     struct{ Summary struct{ Drifted int } }
}

// serve starts situ serve, and ends it with the test.
func (t teller) serve() follower {
	t.Helper()
	ctx, end := context.WithCancel(t.story.ctx)
	cmd := t.command(ctx, "situ", []string{"SITU_LISTEN=127.0.0.1:0"}, "serve")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var log transcript
	cmd.Stderr = &log
	check(t.T, cmd.Start())
	t.Cleanup(func() {
		end()
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("situ serve: %v\n%s", err, log.String())
		}
	})
	f := follower{teller: t}
	check(t.T, eventually(ctx, "the status page's address", func() (bool, error) {
		if match := regexp.MustCompile(`address="?(http://[0-9.:]+)`).FindStringSubmatch(log.String()); match != nil {
			f.url = match[1]
		}
		return f.url != "", nil
	}))
	return f
}

func (f follower) get(path string) []byte {
	f.Helper()
	response, err := http.Get(f.url + path)
	check(f.T, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(f.T, err)
	return body
}

func (f follower) status() served {
	f.Helper()
	var now served
	check(f.T, json.Unmarshal(f.get("/status.json"), &now))
	return now
}

func (f follower) await(what string, done func(served) bool) {
	f.Helper()
	check(f.T, eventually(f.story.ctx, what, func() (bool, error) { return done(f.status()), nil }))
}

// awaitPolls waits until the repository was asked n more times.
func (f follower) awaitPolls(n int) {
	f.Helper()
	for range n {
		last := f.status().LastPoll
		f.await("the next poll", func(now served) bool { return now.LastPoll.After(last) })
	}
}

// requests is how many situ has sent to the API server, by its own count.
func (f follower) requests() int {
	f.Helper()
	text := f.get("/metrics")
	if !bytes.Contains(text, []byte("situ_api_requests_total")) {
		f.Fatalf("situ does not tell how many requests it sends:\n%s", text)
	}
	return sum(f.T, text, `situ_api_requests_total(?:\{[^}]*\})?`) + sum(f.T, text, `situ_api_watches_total`)
}

// transcript collects what a process says while it runs.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
