// Package bench measures what situ costs, against what the API server can do at
// all: on the same machine, in the same run, on the same pods.
//
// It owns the measuring. What it measures is the real situ serve as a process of
// its own, on a real control plane with simulated nodes and a real Git server.
//
//	rollout   the raw limit (16 writers patch every pod), then situ with the same
//	          pods, in turns; the medians are compared
//	settled   what a source costs that has nothing new
//	memory    the peak of a situ serve that knows many pods
//	real      on a real node instead: updates in place and native recreation of
//	          the same pods, in turns, and what a client of theirs notices
//
// Requests are counted twice: by situ itself, and by the API server, which gives
// situ's user a flow of its own.
package bench

import (
	"context"
	"fmt"
	"io"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/registry"
)

// Options say what to measure.
type Options struct {
	// Pods is how many a rollout reaches, in as many Deployments as Workloads.
	Pods, Workloads int
	// Cached is how many pods situ serve has to know when its memory is
	// measured, in 100 Deployments; 0: it is not measured.
	Cached int
	// Gate measures a rollout of pods with the readiness gate, too.
	Gate bool
	// Repeat is how often every rollout is measured.
	Repeat int
	// Dir keeps the repositories and situ.
	Dir string
	// Log hears what is going on.
	Log io.Writer
}

// bench is what all measurements share.
type bench struct {
	Options
	cluster *cluster.Cluster
	ground  *ground
	report  Report
}

// Run measures. The cluster must be one of the playground, with simulated nodes.
func Run(ctx context.Context, c *cluster.Cluster, options Options) (Report, error) {
	b := &bench{Options: options, cluster: c}
	var err error
	if b.ground, err = prepare(ctx, c, options.Dir); err != nil {
		return Report{}, fmt.Errorf("prepare: %w", err)
	}
	defer b.ground.close()
	for _, part := range []struct {
		name    string
		wanted  bool
		measure func(context.Context) error
	}{
		{"rollout", true, b.plainRollout},
		{"gated rollout", b.Gate, b.gatedRollout},
		{"memory", b.Cached > 0, b.memory},
	} {
		if !part.wanted {
			continue
		}
		if err := part.measure(ctx); err != nil {
			return b.report, fmt.Errorf("measure the %s: %w", part.name, err)
		}
	}
	return b.report, nil
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.Log, format+"\n", args...) }

// image is one of the application's; a simulated node has every version.
func image(version string) string { return registry.Name + "/app:" + version }
