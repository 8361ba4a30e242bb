package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/realnode"
	"situ.gitops/examples/playground/registry"
)

// ground is what up --real-node adds to a cluster.
type ground struct {
	images *registry.Registry
	node   *realnode.Node
}

// addRealNode starts the image registry and a node that pulls from it, and says
// how to get pods there.
func addRealNode(ctx context.Context, c *cluster.Cluster, out io.Writer) (ground, error) {
	images, err := registry.Start(ctx)
	if err != nil {
		return ground{}, err
	}
	node, err := realnode.Join(ctx, c, images)
	if err != nil {
		return ground{}, errors.Join(err, images.Close())
	}
	fmt.Fprintf(out, "Node %s runs real containers. Pods get there with\n\n  nodeSelector: {%s: %s}\n\nand pull %s, v2 and v3 or %s and v2. Logs: %s\n",
		node.Name(), realnode.Label, realnode.LabelValue,
		images.Image("app", "v1"), images.Image("sidecar", "v1"), node.Logs())
	return ground{images: images, node: node}, nil
}

// stop is called when the context of up is over already.
func (g ground) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopping)
	defer cancel()
	return errors.Join(g.node.Stop(ctx), g.images.Close())
}
