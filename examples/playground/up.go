package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"situ.gitops/examples/playground/cluster"
)

// place is what up and down have to agree about.
type place struct{ dir string }

// settings are the flags of every command that needs a cluster.
type settings struct {
	place
	nodes    int
	existing bool
}

// upSettings are the flags of up.
type upSettings struct {
	settings
	realNode bool
}

func (p *place) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.dir, "dir", "", "the cluster's folder (default: one in the user's cache)")
}

func (s *settings) flags(cmd *cobra.Command) {
	s.place.flags(cmd)
	cmd.Flags().IntVar(&s.nodes, "nodes", 3, "how many simulated nodes to start with")
	cmd.Flags().BoolVar(&s.existing, "existing", false, "use the cluster of $KUBECONFIG, as it is, instead of starting one")
}

func newUp() *cobra.Command {
	var s upSettings
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster and keep it running until Ctrl-C, or until down",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return up(cmd.Context(), s, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&s.realNode, "real-node", false, "add a node that runs real containers (root, Debian's containerd)")
	return cmd
}

func up(ctx context.Context, s upSettings, out, log io.Writer) (err error) {
	dir, err := s.folder()
	if err != nil {
		return err
	}
	mark, err := claim(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mark.release()) }()
	c, err := s.start(ctx, dir, log)
	if err != nil {
		return err
	}
	defer func() {
		fmt.Fprintln(log, "Stopping.")
		err = errors.Join(err, c.Stop())
	}()
	if s.realNode {
		added, err := addRealNode(ctx, c, out)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, added.stop(ctx)) }()
	}
	fmt.Fprintf(out, "\nIt runs until Ctrl-C. In another terminal:\n\n  export KUBECONFIG=%s\n  kubectl get nodes\n\n", c.Kubeconfig())
	<-ctx.Done()
	return nil
}

// start starts the cluster that the flags ask for.
func (s settings) start(ctx context.Context, dir string, log io.Writer) (*cluster.Cluster, error) {
	if !s.existing {
		return cluster.Start(ctx, cluster.Options{Nodes: s.nodes, Dir: dir, Log: log})
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return nil, errors.New("--existing needs KUBECONFIG: the path of the cluster's kubeconfig")
	}
	return cluster.Existing(ctx, kubeconfig, 0)
}

// folder is where the cluster is.
func (p place) folder() (string, error) {
	if p.dir != "" {
		return filepath.Abs(p.dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	return filepath.Join(cache, "situ-playground", "up"), nil
}
