// Package demo shows what situ does to somebody who has never seen it: a shop
// in a Git repository, a real Kubernetes, and a few commits, one after another.
//
// It owns the telling. The cluster, the Git server and situ itself are the real
// ones, and what it says about the pods it has compared.
//
//	open     a repository from examples/shop, on loopback; situ is built
//	begin    situ brings the shop into the cluster
//	acts     per commit: what changed, the plan, the rollout, the pods, the note
//	stay     situ serve follows the branch, for commits of one's own
package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/gitserver"
	"situ.gitops/examples/playground/situ"
)

// clusterName is what notes call the cluster.
const clusterName = "playground"

// Options say where the demo takes place.
type Options struct {
	Cluster *cluster.Cluster
	// Dir keeps the repository and situ. An earlier demo's are replaced.
	Dir string
	// Registry is the name of the registry with the shop's images.
	Registry string
	// Simulated tells that no container really runs.
	Simulated bool
	// Pace is the time to read what a commit did, before the next one.
	Pace time.Duration
	Out  io.Writer
}

// Demo is a repository with the shop, and situ to bring it into the cluster.
type Demo struct {
	Options
	screen     screen
	server     *gitserver.Server
	repository *gitserver.Repository
	situ       situ.Program
}

// Open makes the repository and builds situ. The working directory has to be
// the playground's module. Close ends what it started.
func Open(ctx context.Context, options Options) (*Demo, error) {
	d := &Demo{Options: options, screen: newScreen(options.Out)}
	if err := d.open(ctx); err != nil {
		d.Close()
		return nil, fmt.Errorf("open the demo: %w", err)
	}
	return d, nil
}

func (d *Demo) open(ctx context.Context) error {
	source, err := situ.Source(ctx)
	if err != nil {
		return err
	}
	repositories := filepath.Join(d.Dir, "git")
	if err := os.RemoveAll(repositories); err != nil {
		return err
	}
	if err := os.MkdirAll(repositories, 0o755); err != nil {
		return err
	}
	d.screen.step("Building situ, a few seconds ...")
	program := filepath.Join(d.Dir, "bin", "situ")
	if err := situ.Build(ctx, source, program); err != nil {
		return err
	}
	if d.server, err = gitserver.Start(repositories); err != nil {
		return err
	}
	if d.repository, err = newShop(ctx, d.server, filepath.Join(source, "examples", "shop"), d.Registry); err != nil {
		return err
	}
	d.situ = situ.Program{File: program, Out: d.Out, Env: d.variables()}
	return nil
}

// variables are what situ and kubectl need to know, here and in the terminal of
// whoever watches.
func (d *Demo) variables() []string {
	return []string{
		"KUBECONFIG=" + d.Cluster.Kubeconfig(),
		"SITU_REPO=" + d.repository.URL,
		"SITU_CLUSTER=" + clusterName,
	}
}

// Close ends the Git server. The folder stays.
func (d *Demo) Close() {
	if d.server != nil {
		d.server.Close()
	}
}

// Play tells everything up to the last commit.
func (d *Demo) Play(ctx context.Context) error {
	if err := d.begin(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for i, act := range acts {
		if err := d.wait(ctx); err != nil {
			return err
		}
		d.screen.title(fmt.Sprintf("Commit %d of %d: %s", i+1, len(acts), act.title))
		if err := d.play(ctx, act); err != nil {
			return fmt.Errorf("commit %q: %w", act.message, err)
		}
	}
	return nil
}

// wait leaves time to read.
func (d *Demo) wait(ctx context.Context) error {
	if d.Pace > 0 {
		d.screen.say(d.screen.in(dim, fmt.Sprintf("... the next commit follows in %s", d.Pace)))
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d.Pace):
		return nil
	}
}

// begin brings the shop into the cluster for the first time.
func (d *Demo) begin(ctx context.Context) error {
	d.screen.title("A shop in a Git repository, and an empty Kubernetes")
	d.screen.say(`situ keeps a cluster as a Git repository says. When a commit changes a running
pod, Kubernetes would throw the pod away and make a new one: another IP, empty
caches, a new start. situ patches the running pod instead wherever that is
possible, tells before what it is going to do and why, and writes afterwards
what it did as a note on the commit. Nothing of it is installed in the cluster.`)
	if d.Simulated {
		d.screen.say(`This is a real Kubernetes with its own controllers; only the nodes are
simulated: they report what a kubelet would, and no container runs.`)
	}
	d.screen.say(`The repository was made from examples/shop and is served at
` + d.repository.URL + `
situ knows it, and the cluster, from its environment variables.`)
	d.screen.commands("situ sync")
	if err := d.situ.Run(ctx, "sync"); err != nil {
		return err
	}
	d.screen.say("Everything runs. From here on, every commit changes one thing.")
	return nil
}
