// Command playground is a real Kubernetes on this machine, to try situ with and
// to test it on. It needs no container runtime, no image and no rights.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code, so that its defers have run before main exits.
func run(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(errOut, "playground: %v\n", err)
		return 1
	}
	return 0
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "playground",
		Short:         "A real Kubernetes on this machine, to try situ with",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newDemo(), newBench(), newUp(), newDown())
	return root
}
