package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"situ.gitops/examples/playground/cluster"
)

// options are the flags, and what all stages share.
type options struct {
	lasting  time.Duration
	seed     uint64
	shrink   time.Duration
	parallel int
	tell     bool
	patience time.Duration // for what a busy cluster does by itself

	cluster *cluster.Cluster
	situ    string // the program
}

// chosen holds the flags; TestMain reads them once, before any test.
var chosen options

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.DurationVar(&chosen.lasting, "chaos.for", 150*time.Second, "how long to begin new sequences; 0: those that were bad once, and one of each kind of workload")
	flag.Uint64Var(&chosen.seed, "chaos.seed", 0, "seed of the first sequence; 0: another one each time")
	flag.DurationVar(&chosen.shrink, "chaos.shrink", 3*time.Minute, "how long to shrink a sequence that failed")
	flag.IntVar(&chosen.parallel, "chaos.parallel", 4, "sequences at a time")
	flag.BoolVar(&chosen.tell, "chaos.tell", false, "tell what happened in every sequence, also in those that went well")
	flag.DurationVar(&chosen.patience, "chaos.patience", 2*time.Minute, "how long a busy cluster may take to come to rest")
	flag.Parse()
	dir, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(dir)
	chosen.situ = filepath.Join(dir, "situ")
	build := exec.Command("go", "build", "-race", "-o", chosen.situ, "./cmd/situ")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return complain(fmt.Errorf("build situ: %w: %s", err, out))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	if chosen.cluster, err = cluster.Start(ctx, cluster.Options{Log: os.Stderr}); err != nil {
		return complain(err)
	}
	defer chosen.cluster.Stop()
	return m.Run()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
