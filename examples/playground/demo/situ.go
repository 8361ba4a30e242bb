package demo

import (
	"bytes"
	"context"
	"errors"
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

// changes is the exit code of a plan that has something to do.
const changes = 1

// findSource is the folder of situ's module.
func findSource(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the module %s, run this from the playground's folder: %w: %s", module, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// build builds situ to a file.
func build(ctx context.Context, source, program string) error {
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/situ")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build situ: %w: %s", err, out)
	}
	return nil
}

// situ is the program, with what it has to know in its environment.
type situ struct {
	program string
	env     []string
	out     io.Writer // a terminal is passed on, so that there is a live line
}

// run runs situ until it ends, and lets it end in good order when the context
// is over.
func (s situ) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env = append(without(os.Environ(), "SITU_"), s.env...)
	cmd.Stdout, cmd.Stderr = s.out, s.out
	cmd.SysProcAttr = boundToParent()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	// The kernel ties a child to the thread that started it, so that thread has
	// to stay for as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case args[0] == "plan" && errors.As(err, &exit) && exit.ExitCode() == changes:
		return nil
	case err != nil:
		return fmt.Errorf("situ %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// without leaves out the variables whose names begin with prefix: settings of
// whoever runs the demo are for his own clusters.
func without(variables []string, prefix string) []string {
	var kept []string
	for _, variable := range variables {
		if !strings.HasPrefix(variable, prefix) {
			kept = append(kept, variable)
		}
	}
	return kept
}
