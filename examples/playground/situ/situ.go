// Package situ builds the program situ out of this repository and runs it, as a
// person would, for the demo and the benchmarks.
package situ

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// module is the one that situ is built from.
const module = "situ.gitops"

// Source is the folder of situ's module. The working directory has to be the
// playground's module.
func Source(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the module %s, run this from the playground's folder: %w: %s", module, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// Build builds situ to a file, as its container image has it.
func Build(ctx context.Context, source, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, "./cmd/situ")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build situ: %w: %s", err, out)
	}
	return nil
}

// Program is situ with what it has to know in its environment.
type Program struct {
	File string
	Env  []string
	Out  io.Writer // a terminal is passed on, so that there is a live line
	// Started, if there is one, hears of the process.
	Started func(pid int)
}

// Run runs situ until it ends. When the context is over situ may end in good
// order, and the error is the context's cause.
func (p Program) Run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, p.File, args...)
	cmd.Env = append(without(os.Environ(), "SITU_"), p.Env...)
	cmd.Stdout, cmd.Stderr = p.Out, p.Out
	cmd.SysProcAttr = boundToParent()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	// The kernel ties a child to the thread that started it, so that thread has
	// to stay for as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	if err == nil {
		if p.Started != nil {
			p.Started(cmd.Process.Pid)
		}
		err = cmd.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("situ %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// without leaves out the variables whose names begin with prefix: settings of
// whoever runs this are for his own clusters.
func without(variables []string, prefix string) []string {
	var kept []string
	for _, variable := range variables {
		if !strings.HasPrefix(variable, prefix) {
			kept = append(kept, variable)
		}
	}
	return kept
}
