package cluster_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"situ.gitops/examples/playground/cluster"
)

// shared is the cluster of all tests of this package that only add objects.
var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	var err error
	shared, err = cluster.Start(ctx, cluster.Options{Nodes: 3, Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Stop()
	return m.Run()
}
