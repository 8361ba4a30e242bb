package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
)

// sample is a line of Prometheus' text format.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

var label = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// samples are those of one metric whose labels have these values.
func samples(text []byte, name string, labels map[string]string) ([]sample, error) {
	var found []sample
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		number := rest[strings.LastIndexByte(rest, ' ')+1:]
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("read the metric %q: %w", line, err)
		}
		s := sample{name: name, labels: map[string]string{}, value: value}
		for _, match := range label.FindAllStringSubmatch(rest, -1) {
			s.labels[match[1]] = match[2]
		}
		if s.matches(labels) {
			found = append(found, s)
		}
	}
	return found, lines.Err()
}

func (s sample) matches(labels map[string]string) bool {
	for name, value := range labels {
		if s.labels[name] != value {
			return false
		}
	}
	return true
}

// sum adds up the samples of a metric.
func sum(text []byte, name string, labels map[string]string) (int, error) {
	found, err := samples(text, name, labels)
	total := 0.0
	for _, s := range found {
		total += s.value
	}
	return int(total), err
}

// count is how many requests there were since the beginning of time.
type count struct {
	client  map[string]int // as situ counted: by verb, with watch
	server  int            // as the API server counted situ's flow
	patches int            // of pods, by whomever, their status apart
	polls   int            // of the repository
	pushes  int            // to the repository
}

// since is what came after an earlier count.
func (c count) since(before count) count {
	c.server -= before.server
	c.patches -= before.patches
	c.polls -= before.polls
	c.pushes -= before.pushes
	client := map[string]int{}
	for verb, n := range c.client {
		client[verb] = n - before.client[verb]
	}
	c.client = client
	return c
}

// requests are situ's own count, all in all.
func (c count) requests() int {
	total := 0
	for _, n := range c.client {
		total += n
	}
	return total
}

// writes are the requests that changed something.
func (c count) writes() int {
	return c.client["create"] + c.client["update"] + c.client["patch"] + c.client["delete"]
}

// server fills in what the API server and the Git server counted.
func (b *bench) server(ctx context.Context, c *count) error {
	text, err := b.cluster.Client().Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("ask the API server for its metrics: %w", err)
	}
	if c.server, err = sum(text, "apiserver_flowcontrol_dispatched_requests_total", map[string]string{"flow_schema": user}); err != nil {
		return err
	}
	c.patches, err = sum(text, "apiserver_request_total", map[string]string{"verb": "PATCH", "resource": "pods", "subresource": "", "dry_run": ""})
	c.polls, c.pushes = int(b.ground.git.polls.Load()), int(b.ground.git.pushes.Load())
	return err
}

// readClient is what situ serve counted by itself.
func readClient(text []byte) (map[string]int, error) {
	requests, err := samples(text, "situ_api_requests_total", nil)
	if err != nil {
		return nil, err
	}
	watches, err := sum(text, "situ_api_watches_total", nil)
	if err != nil {
		return nil, err
	}
	client := map[string]int{"watch": watches}
	for _, s := range requests {
		client[s.labels["verb"]] = int(s.value)
	}
	return client, nil
}

// get reads a page.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// gitCounter counts what a Git server is asked.
type gitCounter struct {
	next          http.Handler
	polls, pushes atomic.Int64
}

func (g *gitCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/info/refs") && r.URL.Query().Get("service") == "git-upload-pack":
		g.polls.Add(1)
	case strings.HasSuffix(r.URL.Path, "/git-receive-pack"):
		g.pushes.Add(1)
	}
	g.next.ServeHTTP(w, r)
}
