package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startup bounds every wait of a start, also on a machine that is very busy.
const startup = 2 * time.Minute

// waitUntilServing returns when the API server says that it is ready.
func (c *Cluster) waitUntilServing(ctx context.Context, needed ...*process) error {
	return poll(ctx, "the API server", func(ctx context.Context) error {
		for _, process := range needed {
			if err := process.ended(); err != nil {
				return fatal{err}
			}
		}
		return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// waitUntilHealthy asks a process for its health. Its certificate is its own
// and nothing secret is sent, so it is not checked.
func waitUntilHealthy(ctx context.Context, process *process, url string) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	return poll(ctx, process.name, func(ctx context.Context) error {
		if err := process.ended(); err != nil {
			return fatal{err}
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
		if err != nil {
			return fatal{err}
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("health: %s", response.Status)
		}
		return nil
	})
}

// waitForDefaultServiceAccount: without it no pod can be created in the
// namespace default.
func (c *Cluster) waitForDefaultServiceAccount(ctx context.Context) error {
	return poll(ctx, "the default service account", func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// waitForSchedulableNodes: a new node is tainted until the controllers have
// seen it ready.
func (c *Cluster) waitForSchedulableNodes(ctx context.Context, names []string) error {
	return poll(ctx, "the simulated nodes", func(ctx context.Context) error {
		list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		open := make(map[string]bool, len(list.Items))
		for _, node := range list.Items {
			open[node.Name] = schedulable(&node)
		}
		for _, name := range names {
			if !open[name] {
				return fmt.Errorf("node %s takes no pods", name)
			}
		}
		return nil
	})
}

func schedulable(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	return true
}

// fatal is an error that waiting does not heal.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// poll asks again and again until there is no error, a fatal one, or the time
// is up.
func poll(ctx context.Context, what string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startup, fmt.Errorf("not ready after %s", startup))
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if errors.As(err, &fatal{}) {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w", what, context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
