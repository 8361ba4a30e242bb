package cluster_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"situ.gitops/examples/playground/cluster"
)

// parentOf makes the test program no test but the parent of a cluster in this
// folder, until it is killed.
const parentOf = "PLAYGROUND_TEST_PARENT_OF"

// shared is the cluster of all tests of this package that only add objects.
var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	options := cluster.Options{Nodes: 3, Dir: os.Getenv(parentOf), Log: os.Stderr}
	var err error
	shared, err = cluster.Start(ctx, options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Stop()
	if options.Dir != "" {
		fmt.Println("up")
		<-ctx.Done()
	}
	return m.Run()
}
