package binaries

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOneBuildsAndTheOthersWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	told := newSignal("Another process is building")
	entered := make(chan error)
	go func() {
		unlockOther, err := lock(t.Context(), path, told)
		if err == nil {
			unlockOther()
		}
		entered <- err
	}()
	select {
	case <-told.seen:
	case err := <-entered:
		t.Fatalf("a second process got the lock (%v) while the first had it", err)
	}
	unlock()
	if err := <-entered; err != nil {
		t.Errorf("lock after the first was done: %v", err)
	}
}

func TestWaitingForABuildEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := lock(ctx, path, io.Discard); !errors.Is(err, stopped) {
		t.Errorf("lock = %v, want the context's cause", err)
	}
}

func TestABuildThatFailsLeavesNothingBehind(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	write(t, dir, "go.mod", "module kube\n\ngo 1.26\n")
	write(t, dir, "main.go", "package main\n\nfunc main() { broken }\n")
	err := buildInto(t.Context(), source{dir: dir, version: "v1.2.3"}, filepath.Join(root, "key"), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "undefined: broken") {
		t.Errorf("build = %v, want the compiler's words", err)
	}
	left, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("the failed build left %v", left)
	}
}

// signal is a log that tells when a text was written to it.
type signal struct {
	text string
	seen chan struct{}
}

func newSignal(text string) signal { return signal{text, make(chan struct{})} }

func (s signal) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(s.text)) {
		close(s.seen)
	}
	return len(b), nil
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
