// Package cluster starts a real Kubernetes control plane on loopback and stops
// it again: etcd, kube-apiserver, kube-controller-manager and kube-scheduler as
// child processes, with everything they write in one folder. Simulated nodes
// run in this process; a real node can be attached from outside, with the
// programs, the certificate authority and AddUser.
//
//	programs     built once per machine (package binaries)
//	keys         one authority signs the server, the users and the nodes
//	processes    etcd, then the API server, then the two that need it
//	ready        a pod created after Start returns can be scheduled
//
// Nothing outlives the process that called Start, however that one ends.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"situ.gitops/examples/playground/binaries"
	"situ.gitops/examples/playground/nodes"
)

// Options say what to start. The zero value is a control plane without nodes.
type Options struct {
	// Nodes is how many simulated nodes to begin with.
	Nodes int
	// Dir is where everything is written. What an earlier cluster left there is
	// replaced. Empty: a temporary folder that Stop removes.
	Dir string
	// Log is told what is being started; nil: nobody.
	Log io.Writer
	// NodeGrace is how long a node may be silent until Kubernetes takes it for
	// lost: 15 seconds at least, for a node speaks every 5. 0: 40 seconds.
	NodeGrace time.Duration
}

// Cluster is a running one.
type Cluster struct {
	dir        string
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
	nodes      *nodes.Simulator
	nodesLog   *os.File // nil for a cluster that was there before

	// What follows is unset for a cluster that was there before.
	programs  binaries.Folder
	authority *authority
	ports     ports
	processes []*process // in the order they were started
	temporary bool
	nodeGrace time.Duration
}

// Start starts a cluster and returns when a pod can be created and scheduled.
// The context bounds the start only; Stop ends the cluster.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	if options.NodeGrace == 0 {
		options.NodeGrace = 40 * time.Second
	}
	programs, err := binaries.Ensure(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	c := &Cluster{programs: programs, dir: options.Dir, nodeGrace: options.NodeGrace}
	if err := c.start(ctx, options); err != nil {
		return nil, errors.Join(fmt.Errorf("start a cluster: %w", err), c.Stop())
	}
	fmt.Fprintf(options.Log, "Kubernetes is ready at %s.\n", c.URL())
	return c, nil
}

func (c *Cluster) start(ctx context.Context, options Options) error {
	if err := c.prepareFolder(); err != nil {
		return err
	}
	if err := c.writeKeys(); err != nil {
		return err
	}
	if err := c.startControlPlane(ctx); err != nil {
		return err
	}
	if err := c.waitForDefaultServiceAccount(ctx); err != nil {
		return err
	}
	return c.addNodes(ctx, options.Nodes)
}

// prepareFolder empties the places this package writes to, and only those: the
// folder may be one that a person chose.
func (c *Cluster) prepareFolder() error {
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "playground-")
		if err != nil {
			return err
		}
		c.dir, c.temporary = dir, true
	}
	dir, err := filepath.Abs(c.dir)
	if err != nil {
		return err
	}
	c.dir = dir
	for _, name := range []string{"etcd", "pki", "log", "users"} {
		if err := os.RemoveAll(c.path(name)); err != nil {
			return err
		}
		if err := os.MkdirAll(c.path(name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends every process in the reverse order of their start and waits for
// each, then removes the folder if it was a temporary one. It may be called
// more than once. A cluster that was there before is left as it is, but for
// the simulated nodes that were added to it.
func (c *Cluster) Stop() error {
	if c.nodes != nil {
		c.nodes.Stop()
		c.nodes = nil
	}
	var errs []error
	if c.nodesLog != nil {
		errs = append(errs, c.nodesLog.Close())
		c.nodesLog = nil
	}
	for len(c.processes) > 0 {
		last := len(c.processes) - 1
		errs = append(errs, c.processes[last].stop())
		c.processes = c.processes[:last]
	}
	if c.temporary {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// RestartControllerManager stops the controllers and starts them again, as an
// upgrade or a crash would. It returns when the new ones are healthy.
func (c *Cluster) RestartControllerManager(ctx context.Context) error {
	for i, process := range c.processes {
		if process.name != controllerManager {
			continue
		}
		if err := process.stop(); err != nil {
			return fmt.Errorf("restart the controllers: %w", err)
		}
		again, err := c.startControllerManager(ctx)
		if err != nil {
			return fmt.Errorf("restart the controllers: %w", err)
		}
		c.processes[i] = again
		return nil
	}
	return errors.New("restart the controllers: they are not this playground's")
}

// addNodes starts n simulated nodes and waits until pods can be bound to them.
func (c *Cluster) addNodes(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	options := nodes.Options{Count: n}
	if c.dir != "" {
		file, err := os.Create(c.path("log/nodes.log"))
		if err != nil {
			return err
		}
		c.nodesLog, options.Log = file, file
	}
	simulator, err := nodes.Start(ctx, c.config, options)
	if err != nil {
		return err
	}
	c.nodes = simulator
	return c.waitForSchedulableNodes(ctx, simulator.Names())
}
