package realnode

import (
	"context"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/registry"
)

// defaultName is the node's name if none was asked for.
const defaultName = "real-1"

// Join starts a real node in a cluster of the playground. The node has a
// kubelet's own rights, and pulls from the registry what is named
// registry.Name/...
func Join(ctx context.Context, c *cluster.Cluster, r *registry.Registry) (*Node, error) {
	kubeconfig, err := c.AddUser("system:node:"+defaultName, "system:nodes")
	if err != nil {
		return nil, err
	}
	return Start(ctx, Options{
		Name:       defaultName,
		Kubeconfig: kubeconfig,
		Kubelet:    c.Programs().Path("kubelet"),
		ClientCA:   c.AuthorityFile(),
		Registry:   r.Host(),
	})
}
