// Command situ updates running Kubernetes pods in place from a Git repository.
//
// This package owns what people and scripts meet: flags, environment variables,
// output, exit codes, the status page. It decides nothing about pods; it wires
// the packages that do.
//
//	plan      what a commit would do
//	sync      one commit, until it has ended
//	serve     follow a branch on schedule
//	history   what became of earlier commits
//	rules     the table behind every verdict
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code, so that its defers have run before main exits.
// The first signal lets actions under way finish; the second one ends at once.
func run(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return exitCode(errOut, newRoot(args, out, errOut).ExecuteContext(ctx))
}
