// Package realnode runs one real Kubernetes node: a kubelet on containerd, with
// pods in network and process namespaces of their own.
//
// It owns everything such a node leaves on a machine, and takes it away again:
// all of it lives in one folder or carries the folder's id in its name. It leaves
// the control plane to package cluster and the images to package registry. It
// needs root and four Debian packages.
//
//	claim       take away what killed runs left; make and lock a folder, and a
//	            bridge with a subnet nobody on this machine uses
//	cgroups     a cgroup of its own, so that no pod can outlive the node
//	containerd  the runtime, which pulls from the loopback registry
//	kubelet     the node itself, awaited until it is Ready
package realnode

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Label marks the real node, for node selectors.
const (
	Label      = "playground.situ.gitops/node"
	LabelValue = "real"
)

// stopTimeout bounds the cleaning up after a start that did not succeed.
const stopTimeout = time.Minute

// Options say which cluster the node joins and from where it pulls.
type Options struct {
	// Name of the node; real-1 if empty.
	Name string
	// Kubeconfig is the file the kubelet reaches the API server with.
	Kubeconfig string
	// Kubelet is the program to run.
	Kubelet string
	// ClientCA is the file of the authority whose clients may call the kubelet
	// for logs and exec. Empty: nobody may.
	ClientCA string
	// Registry is the address (host:port, plain HTTP) behind registry.Name.
	Registry string
}

// Node is a running node; Stop ends it.
type Node struct {
	options Options
	site    *site
	network network
	// processes in the order they were started.
	processes []*process
}

// Start returns when the node is Ready. What an earlier run on this machine left
// behind, because it was killed, is taken away first.
func Start(ctx context.Context, o Options) (*Node, error) {
	if o.Name == "" {
		o.Name = defaultName
	}
	if err := preflight(); err != nil {
		return nil, fmt.Errorf("start node %s: %w", o.Name, err)
	}
	site, network, err := claim(ctx)
	if err != nil {
		return nil, fmt.Errorf("start node %s: %w", o.Name, err)
	}
	n := &Node{options: o, site: site, network: network}
	if err := n.start(ctx); err != nil {
		// The caller's context may be what ended the start.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("start node %s: %w", o.Name, err), n.Stop(ctx))
	}
	return n, nil
}

// Name is the node's name in the cluster.
func (n *Node) Name() string { return n.options.Name }

// Logs is the folder with containerd's and the kubelet's log files.
func (n *Node) Logs() string { return n.site.path("log") }

// Stop ends every pod on the node and removes whatever the node has put on the
// machine: processes, mounts, network, cgroups and files. The Node object stays
// in the cluster. A context that ends makes Stop less gentle, not less thorough.
func (n *Node) Stop(ctx context.Context) error {
	var errs []error
	if kubelet := n.process("kubelet"); kubelet != nil {
		errs = append(errs, kubelet.stop(ctx)) // first, or it would start the pods again
	}
	if containerd := n.process("containerd"); containerd != nil {
		errs = append(errs, removePods(ctx, n.site.socket()), containerd.stop(ctx))
	}
	errs = append(errs, n.leave(context.WithoutCancel(ctx)))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop node %s: %w", n.options.Name, err)
	}
	return nil
}

// leave removes the site while nobody else starts, who could take it for one of
// a killed run.
func (n *Node) leave(ctx context.Context) error {
	turn, err := takeTurn(ctx)
	if err != nil {
		return err
	}
	defer turn.Close()
	return n.site.remove(ctx)
}

func (n *Node) process(name string) *process {
	for _, p := range n.processes {
		if p.name == name {
			return p
		}
	}
	return nil
}

func (n *Node) start(ctx context.Context) error {
	if err := makeCgroups(n.site.cgroup()); err != nil {
		return err
	}
	if err := n.configure(); err != nil {
		return err
	}
	if err := n.startContainerd(ctx); err != nil {
		return err
	}
	return n.startKubelet(ctx)
}

func (n *Node) startContainerd(ctx context.Context) error {
	containerd, err := run("containerd", n.Logs(), "containerd", "--config", n.site.path("containerd.toml"))
	if err != nil {
		return err
	}
	n.processes = append(n.processes, containerd)
	return containerd.await(ctx, func(ctx context.Context) error { return runtimeReady(ctx, n.site.socket()) })
}

func (n *Node) startKubelet(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", n.options.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	kubelet, err := run("kubelet", n.Logs(), n.options.Kubelet,
		"--config="+n.site.path("kubelet.yaml"),
		"--kubeconfig="+n.options.Kubeconfig,
		"--hostname-override="+n.options.Name,
		"--node-ip="+n.network.gateway.String(),
		"--node-labels="+Label+"="+LabelValue,
		"--root-dir="+n.site.path("kubelet"),
		"--cert-dir="+filepath.Join(n.site.path("kubelet"), "pki"),
	)
	if err != nil {
		return err
	}
	n.processes = append(n.processes, kubelet)
	return kubelet.await(ctx, func(ctx context.Context) error {
		return nodeReady(ctx, client, n.options.Name, n.network.gateway.String())
	})
}
