package stories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/realnode"
	"situ.gitops/examples/playground/registry"
)

const (
	simulatedNodes = 3
	patience       = 90 * time.Second // for what a cluster does by itself
	poll           = 50 * time.Millisecond
)

// ground is a cluster that many stories share.
type ground struct {
	cluster *cluster.Cluster
	nodes   int
	real    bool       // a kubelet's, not a simulator's
	restart sync.Mutex // one at a time
}

// onSimulatedNodes starts a control plane with simulated nodes for one test.
func onSimulatedNodes(t *testing.T) *ground {
	return startGround(t, simulatedNodes)
}

// onARealNode starts a control plane with one kubelet on containerd for one test.
func onARealNode(t *testing.T) *ground {
	g := startGround(t, 0)
	images, err := registry.Start(t.Context())
	check(t, err)
	t.Cleanup(func() { check(t, images.Close()) })
	node, err := realnode.Join(t.Context(), g.cluster, images)
	check(t, err)
	t.Cleanup(func() { check(t, node.Stop(context.WithoutCancel(t.Context()))) })
	g.nodes, g.real = 1, true
	return g
}

func startGround(t *testing.T, nodes int) *ground {
	t.Helper()
	c, err := cluster.Start(t.Context(), cluster.Options{Nodes: nodes, Log: t.Output()})
	check(t, err)
	t.Cleanup(func() { check(t, c.Stop()) })
	return &ground{cluster: c, nodes: nodes}
}

func (g *ground) client() kubernetes.Interface { return g.cluster.Client() }

// newNamespace makes a namespace in which pods can be created at once.
func (g *ground) newNamespace(ctx context.Context) (string, error) {
	created, err := g.client().CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return created.Name, eventually(ctx, "the default service account of "+created.Name, func() (bool, error) {
		_, err := g.client().CoreV1().ServiceAccounts(created.Name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

// writeKubeconfig makes a kubeconfig for one namespace out of another one; its
// one context, and so the cluster in notes, is called name.
func writeKubeconfig(from, path, name, namespace string) error {
	config, err := clientcmd.LoadFromFile(from)
	if err != nil {
		return err
	}
	own := config.Contexts[config.CurrentContext]
	own.Namespace = namespace
	config.Contexts, config.CurrentContext = map[string]*clientcmdapi.Context{name: own}, name
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*config, path)
}

// restartControllers ends the controllers and starts them again.
func (g *ground) restartControllers(ctx context.Context) error {
	g.restart.Lock()
	defer g.restart.Unlock()
	return g.cluster.RestartControllerManager(ctx)
}

// eventually waits until done says so.
func eventually(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("waited %s for %s", patience, what))
	defer cancel()
	for {
		ok, err := done()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
			return context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
