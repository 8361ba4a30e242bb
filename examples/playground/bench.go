package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"situ.gitops/examples/playground/bench"
	"situ.gitops/examples/playground/cluster"
)

const benchLong = `bench measures what situ costs, against what the API server can do at all, in the
same run and on the same pods: the time of a rollout, the requests it needs, what
a settled source costs, and the memory of situ serve with many pods.

With --real-node it measures on one real node instead, which needs root: how fast
pods are updated in place and how fast their own controllers recreate them, and
what a client notices that sends requests all the time.

A missed target is told in the table and is no error.`

func newBench() *cobra.Command {
	var p place
	var options bench.Options
	var nodes int
	var onRealNode bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what situ costs",
		Long:  benchLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.Pods < 1 || options.Workloads < 1 || options.Repeat < 1 || nodes < 1 || options.Workloads > options.Pods {
				return errors.New("--pods, --workloads, --repeat and --nodes have to be 1 or more, and --pods not less than --workloads")
			}
			measure := onSimulatedNodes(nodes)
			if onRealNode {
				measure = benchRealNode
			}
			return runBench(cmd.Context(), p, measure, options, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&p.dir, "dir", "", "folder for the cluster (default: a temporary one)")
	flags.IntVar(&nodes, "nodes", 5, "how many simulated nodes")
	flags.BoolVar(&onRealNode, "real-node", false, "measure on one real node instead; of the flags below, only --repeat applies")
	flags.IntVar(&options.Pods, "pods", 500, "how many pods a rollout reaches")
	flags.IntVar(&options.Workloads, "workloads", 1, "in how many Deployments they are")
	flags.IntVar(&options.Repeat, "repeat", 3, "how often every rollout is measured")
	flags.IntVar(&options.Cached, "cached", 10_000, "with how many pods the memory of situ serve is measured; 0: it is not")
	flags.BoolVar(&options.Gate, "gate", false, "measure pods with the readiness gate, too")
	return cmd
}

// measuring starts a cluster in a folder, measures and stops it.
type measuring func(ctx context.Context, options bench.Options) (bench.Report, error)

func onSimulatedNodes(nodes int) measuring {
	return func(ctx context.Context, options bench.Options) (report bench.Report, err error) {
		c, err := startForBench(ctx, nodes, options)
		if err != nil {
			return bench.Report{}, err
		}
		defer func() { err = errors.Join(err, c.Stop()) }()
		return bench.Run(ctx, c, options)
	}
}

func benchRealNode(ctx context.Context, options bench.Options) (report bench.Report, err error) {
	c, err := startForBench(ctx, 0, options)
	if err != nil {
		return bench.Report{}, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	g, err := addRealNode(ctx, c, io.Discard)
	if err != nil {
		return bench.Report{}, err
	}
	defer func() { err = errors.Join(err, g.stop(ctx)) }()
	return bench.RunReal(ctx, c, options)
}

func startForBench(ctx context.Context, nodes int, options bench.Options) (*cluster.Cluster, error) {
	return cluster.Start(ctx, cluster.Options{Nodes: nodes, Dir: filepath.Join(options.Dir, "cluster"), Log: options.Log})
}

func runBench(ctx context.Context, p place, measure measuring, options bench.Options, out, log io.Writer) (err error) {
	if p.dir == "" {
		if p.dir, err = os.MkdirTemp("", "situ-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	}
	if options.Dir, err = p.folder(); err != nil {
		return err
	}
	mark, err := claim(options.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mark.release()) }()
	options.Log = log
	report, err := measure(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	return report.Print(out)
}
