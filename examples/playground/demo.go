package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/demo"
	"situ.gitops/examples/playground/registry"
)

const demoLong = `demo starts a Kubernetes on this machine, puts a small shop into a Git repository,
and lets situ bring one commit after another into the cluster: for each it shows
the plan, the rollout, the pods before and after, and the note on the commit.
Then it stays, for commits of your own, until Ctrl-C.

It needs Go, git, and nothing else: no root, no container runtime, no cluster.`

// demoSettings are the flags of demo.
type demoSettings struct {
	settings
	once, realNode bool
	pace           time.Duration
}

func newDemo() *cobra.Command {
	var s demoSettings
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what situ does, commit by commit",
		Long:  demoLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), s, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&s.once, "once", false, "end after the last commit instead of staying")
	cmd.Flags().BoolVar(&s.realNode, "real-node", false, "run real containers, on one node (root, Debian's containerd)")
	cmd.Flags().DurationVar(&s.pace, "pace", 8*time.Second, "time to read before the next commit; none if nobody reads along on a terminal")
	return cmd
}

func runDemo(ctx context.Context, s demoSettings, out, log io.Writer) (err error) {
	if !demo.IsTerminal(out) {
		s.pace = 0
	}
	if s.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("find the user's cache folder: %w", err)
		}
		s.dir = filepath.Join(cache, "situ-playground", "demo")
	}
	dir, err := s.folder()
	if err != nil {
		return err
	}
	mark, err := claim(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mark.release()) }()
	c, stop, err := s.begin(ctx, dir, out, log)
	if err != nil {
		return err
	}
	defer func() {
		fmt.Fprintln(log, "Stopping.")
		err = errors.Join(err, stop())
	}()
	d, err := demo.Open(ctx, demo.Options{
		Cluster: c, Dir: dir, Registry: registry.Name, Simulated: !s.realNode, Pace: s.pace, Out: out,
	})
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Play(ctx); err != nil || s.once {
		return err
	}
	return d.Stay(ctx)
}

// begin starts the cluster that the flags ask for; stop ends it.
func (s demoSettings) begin(ctx context.Context, dir string, out, log io.Writer) (*cluster.Cluster, func() error, error) {
	if s.realNode {
		s.nodes = 0
	}
	c, err := s.start(ctx, dir, log)
	if err != nil {
		return nil, nil, err
	}
	if !s.realNode {
		return c, c.Stop, nil
	}
	added, err := addRealNode(ctx, c, out)
	if err != nil {
		return nil, nil, errors.Join(err, c.Stop())
	}
	return c, func() error { return errors.Join(added.stop(ctx), c.Stop()) }, nil
}
