package cluster

import (
	"net/http"
	"sync"
)

// Counts says how many requests were sent to the API server.
type Counts struct {
	Verbs   map[string]int // get (lists and discovery too), create, patch, delete, and dry-run for all that write nothing
	Watches int            // opened; they are not in Verbs
}

// Total is the number of requests without watches.
func (c Counts) Total() int {
	total := 0
	for _, count := range c.Verbs {
		total += count
	}
	return total
}

// counter counts requests on their way out, retries included.
type counter struct {
	mu      sync.Mutex
	verbs   map[string]int
	watches int
}

var verbs = map[string]string{
	http.MethodGet: "get", http.MethodPost: "create", http.MethodPatch: "patch", http.MethodPut: "update", http.MethodDelete: "delete",
}

func (c *counter) counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	copied := make(map[string]int, len(c.verbs))
	for verb, count := range c.verbs {
		copied[verb] = count
	}
	return Counts{Verbs: copied, Watches: c.watches}
}

func (c *counter) add(request *http.Request) {
	query := request.URL.Query()
	verb := verbs[request.Method]
	if query.Has("dryRun") {
		verb = "dry-run"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if query.Get("watch") == "true" || query.Get("watch") == "1" {
		c.watches++
		return
	}
	if c.verbs == nil {
		c.verbs = map[string]int{}
	}
	c.verbs[verb]++
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		c.add(request)
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
