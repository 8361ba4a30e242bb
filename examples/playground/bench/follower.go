package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync"
	"time"

	"situ.gitops/examples/playground/situ"
)

// What situ serve logs when it has read a commit, and when the commit has ended.
var (
	takenUp    = regexp.MustCompile(`msg="commit taken up" commit=([0-9a-f]{40})`)
	reconciled = regexp.MustCompile(`msg=reconciled commit=([0-9a-f]{40}) .*state=(\w+)`)
)

// follower is a situ serve that follows a repository.
type follower struct {
	page  string
	pid   int
	stop  context.CancelFunc
	ended chan struct{}

	mu     sync.Mutex
	log    bytes.Buffer
	rest   []byte // a line that has not ended yet
	taken  map[string]time.Time
	states map[string]string
	at     map[string]time.Time // when it got into its state
	news   chan struct{}        // closed and replaced with every line
}

// follow starts situ serve.
func (b *bench) follow(ctx context.Context, repository string) (*follower, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	own, stop := context.WithCancel(ctx)
	f := &follower{
		page: "http://" + address, stop: stop, ended: make(chan struct{}), news: make(chan struct{}),
		taken: map[string]time.Time{}, states: map[string]string{}, at: map[string]time.Time{},
	}
	started := make(chan int, 1)
	program := situ.Program{File: b.ground.program, Out: f, Started: func(pid int) { started <- pid }, Env: []string{
		"KUBECONFIG=" + b.ground.kubeconfig,
		"SITU_REPO=" + b.ground.front.URL + "/" + repository + ".git",
		"SITU_CLUSTER=bench",
		"SITU_SCHEDULE=@every 1s",
		"SITU_LISTEN=" + address,
	}}
	go func() {
		defer close(f.ended)
		_ = program.Run(own, "serve") // whoever waits for a commit tells what it logged
	}()
	select {
	case f.pid = <-started:
		return f, nil
	case <-f.ended:
		stop()
		return nil, f.failure("situ serve does not start")
	}
}

// close ends it and waits.
func (f *follower) close() {
	f.stop()
	<-f.ended
}

// Write takes what situ serve logs.
func (f *follower) Write(text []byte) (int, error) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log.Write(text)
	f.rest = append(f.rest, text...)
	for {
		end := bytes.IndexByte(f.rest, '\n')
		if end < 0 {
			break
		}
		f.line(f.rest[:end], now)
		f.rest = f.rest[end+1:]
	}
	close(f.news)
	f.news = make(chan struct{})
	return len(text), nil
}

func (f *follower) line(line []byte, now time.Time) {
	if match := takenUp.FindSubmatch(line); match != nil {
		f.taken[string(match[1])] = now
	}
	if match := reconciled.FindSubmatch(line); match != nil {
		f.states[string(match[1])], f.at[string(match[1])] = string(match[2]), now
	}
}

// settled waits until a commit has been settled, and tells when it was seen and
// when it was settled.
func (f *follower) settled(ctx context.Context, commit string) (seen, settled time.Time, err error) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		f.mu.Lock()
		state, news := f.states[commit], f.news
		seen, settled = f.taken[commit], f.at[commit]
		f.mu.Unlock()
		switch state {
		case "settled":
			return seen, settled, nil
		case "":
		default:
			return seen, settled, f.failure(fmt.Sprintf("commit %.10s ended as %s", commit, state))
		}
		select {
		case <-news:
		case <-f.ended:
			return seen, settled, f.failure("situ serve ended")
		case <-ctx.Done():
			return seen, settled, context.Cause(ctx)
		case <-timeout.C:
			return seen, settled, f.failure(fmt.Sprintf("commit %.10s is not settled within %s", commit, patience))
		}
	}
}

// failure says what happened and what situ logged last.
func (f *follower) failure(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := f.log.Bytes()
	return errors.New(what + "; it logged:\n" + string(text[max(0, len(text)-2000):]))
}

// count counts everything up to now.
func (b *bench) count(ctx context.Context, f *follower) (count, error) {
	text, err := get(ctx, f.page+"/metrics")
	if err != nil {
		return count{}, fmt.Errorf("ask situ for its metrics: %w", err)
	}
	var c count
	if c.client, err = readClient(text); err != nil {
		return count{}, err
	}
	return c, b.server(ctx, &c)
}

// freeAddress is one on loopback that nobody listens on at the moment.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
