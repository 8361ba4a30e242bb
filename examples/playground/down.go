package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// stopping is how long down waits for up to end.
const stopping = 30 * time.Second

func newDown() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster that up started",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return down(cmd.Context(), p, cmd.OutOrStdout())
		},
	}
	p.flags(cmd)
	return cmd
}

func down(ctx context.Context, p place, out io.Writer) error {
	dir, err := p.folder()
	if err != nil {
		return err
	}
	pid, err := owner(dir)
	if err != nil {
		return err
	}
	if pid == 0 {
		fmt.Fprintln(out, "No playground runs.")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the playground, process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stopping, fmt.Errorf("it still runs after %s", stopping))
	defer cancel()
	for {
		if left, err := owner(dir); err != nil || left != pid {
			fmt.Fprintln(out, "Stopped.")
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stop the playground, process %d: %w", pid, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// mark is held by the one playground that runs in a folder. The kernel takes it
// back when the process dies, so that a stale one blocks nobody and no foreign
// process is ever taken for a playground.
type mark struct{ file *os.File }

// claim marks the folder as this process's.
func claim(dir string) (mark, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return mark{}, fmt.Errorf("make the cluster's folder: %w", err)
	}
	file, err := os.OpenFile(markPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return mark{}, fmt.Errorf("claim the cluster's folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return mark{}, fmt.Errorf("a playground runs in %s already; stop it with down, or choose another --dir", dir)
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, strconv.Itoa(os.Getpid()))); err != nil {
		file.Close()
		return mark{}, fmt.Errorf("claim the cluster's folder: %w", err)
	}
	return mark{file}, nil
}

func (m mark) release() error {
	return errors.Join(os.Remove(m.file.Name()), m.file.Close())
}

// owner is the process that runs a playground in dir, 0 if there is none.
func owner(dir string) (int, error) {
	file, err := os.Open(markPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for a playground: %w", err)
	}
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return 0, nil // nobody holds it: that playground was killed
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return 0, fmt.Errorf("look for a playground: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", markPath(dir), err)
	}
	return pid, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func markPath(dir string) string { return filepath.Join(dir, "pid") }
