package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Stay follows the branch with situ serve until the context is over, which is
// no error, and tells how to take part.
func (d *Demo) Stay(ctx context.Context) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return fmt.Errorf("stay: %w", err)
	}
	d.screen.title("Your turn")
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- d.situ.Run(serving, "serve", "--schedule", "@every 2s", "--listen", address)
	}()
	page := "http://" + address
	if err := waitForPage(ctx, page, ended); err != nil {
		stop()
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("stay: %w", err)
	}
	d.invite(page)
	err = <-ended
	stop()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("stay: situ serve ended: %w", err)
}

// invite tells how to push a commit and what to look at.
func (d *Demo) invite(page string) {
	d.screen.say(`situ serve follows the repository now: it asks every 2 seconds, and what it does
is told here. Its status page: ` + page + `

Push a commit of your own, in another terminal:`)
	d.screen.commands(
		"cd "+d.repository.Work,
		"sed -i 's|image: .*/app:v1|image: "+d.Registry+"/app:v3|' worker.yaml",
		"git commit -am 'worker: app v3' && git push",
		"git fetch && git log   # the notes are shown with the commits")
	d.screen.say("Look with kubectl, or with situ itself:")
	var lines []string
	for _, variable := range d.variables() {
		lines = append(lines, "export "+variable)
	}
	d.screen.commands(append(lines,
		"kubectl get pods --namespace "+namespace+" -o wide --watch",
		d.situ.File+" history")...)
	d.screen.say(`Everything is in ` + d.Dir + `
and stays there until the next demo. Ctrl-C ends this one.
`)
}

// freeAddress is one on loopback that nobody listens on at the moment.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// waitForPage waits until situ serve shows its page, or has ended.
func waitForPage(ctx context.Context, page string, ended <-chan error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("situ serve shows no page"))
	defer cancel()
	for {
		err := ask(ctx, page)
		if err == nil {
			return nil
		}
		select {
		case ending := <-ended:
			return fmt.Errorf("situ serve ended: %w", ending)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func ask(ctx context.Context, page string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && !strings.Contains(string(body), "situ on "+clusterName) {
		err = fmt.Errorf("%s answers %s", page, response.Status)
	}
	return err
}
