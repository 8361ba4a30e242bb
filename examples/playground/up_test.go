package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// actAsCommand makes the test program the command itself, as a process of its
// own that down can stop.
const actAsCommand = "PLAYGROUND_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(actAsCommand) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestUpRunsUntilDownAndOnlyOncePerFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "playground")
	up := start(t, "up", "--nodes", "1", "--dir", dir)

	if out, err := command(t.Context(), "up", "--dir", dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "stop it with down") {
		t.Errorf("a second up = %v, %q; want it refused with the way out", err, out)
	}
	if out, err := command(t.Context(), "down", "--dir", dir).CombinedOutput(); err != nil || string(out) != "Stopped.\n" {
		t.Errorf("down = %v, %q; want it stopped", err, out)
	}
	if err := up.Wait(); err != nil {
		t.Errorf("up, when it was stopped = %v", err)
	}
	if out, err := command(t.Context(), "down", "--dir", dir).CombinedOutput(); err != nil || string(out) != "No playground runs.\n" {
		t.Errorf("a second down = %v, %q; want it to find none", err, out)
	}
}

func TestDownTakesNoForeignProcessForAPlayground(t *testing.T) {
	dir := t.TempDir()
	// What a killed playground leaves: a process id, which is another's by now.
	foreign := exec.CommandContext(t.Context(), "sleep", "60")
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(markPath(dir), []byte(strconv.Itoa(foreign.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	if err := down(t.Context(), place{dir: dir}, &out); err != nil || out.String() != "No playground runs.\n" {
		t.Errorf("down = %v, %q; want it to find none", err, out.String())
	}
	if err := foreign.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the foreign process: %v", err)
	}
	_ = foreign.Process.Kill()
	if state, err := foreign.Process.Wait(); err != nil || !strings.Contains(state.String(), "killed") {
		t.Errorf("the foreign process ended as %v, %v; want it killed by this test", state, err)
	}
}

func TestExistingNeedsAKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	_, err := settings{existing: true}.start(t.Context(), t.TempDir(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "KUBECONFIG") {
		t.Errorf("start = %v, want an error that names KUBECONFIG", err)
	}
}

// start starts the command and returns when it tells of its kubeconfig.
func start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(context.WithoutCancel(t.Context()), args...)
	told := make(chan struct{})
	cmd.Stdout = &listener{text: "export KUBECONFIG=", heard: told}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	select {
	case <-told:
	case <-time.After(2 * time.Minute):
		t.Fatal("up told of no kubeconfig within two minutes")
	}
	return cmd
}

func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), actAsCommand+"=1")
	return cmd
}

// listener closes heard when the text was written.
type listener struct {
	text  string
	heard chan struct{}
	all   bytes.Buffer
}

func (l *listener) Write(b []byte) (int, error) {
	before := strings.Contains(l.all.String(), l.text)
	l.all.Write(b)
	if !before && strings.Contains(l.all.String(), l.text) {
		close(l.heard)
	}
	return len(b), nil
}
