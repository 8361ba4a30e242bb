package realnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// endTimeout is how long a killed process may take to be gone.
	endTimeout = 20 * time.Second
	endPoll    = 20 * time.Millisecond
)

// makeCgroups makes the node's cgroup in every hierarchy, of version 1 and 2:
// the kubelet refuses a root that does not exist.
func makeCgroups(name string) error {
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		if err := os.MkdirAll(filepath.Join(hierarchy, name), 0o755); err != nil {
			return fmt.Errorf("make cgroup: %w", err)
		}
	}
	return nil
}

// removeCgroups kills every process in the cgroup and below, and removes it.
func removeCgroups(ctx context.Context, name string) error {
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	for {
		var errs []error
		for _, hierarchy := range hierarchies {
			errs = append(errs, removeCgroup(filepath.Join(hierarchy, name)))
		}
		err := errors.Join(errs...)
		if err == nil {
			return nil
		}
		// A killed process leaves its cgroup a moment later.
		select {
		case <-ctx.Done():
			return err
		case <-time.After(endPoll):
		}
	}
}

func removeCgroup(dir string) error {
	var cgroups []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			cgroups = append(cgroups, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list cgroups: %w", err)
	}
	var errs []error
	for i := len(cgroups) - 1; i >= 0; i-- { // children before their parents
		killAll(cgroups[i])
		if err := os.Remove(cgroups[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove cgroup: %w", err))
		}
	}
	return errors.Join(errs...)
}

// killAll may meet processes that have just ended; the removal of the cgroup
// shows whether any is left.
func killAll(cgroup string) {
	content, err := os.ReadFile(filepath.Join(cgroup, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, field := range strings.Fields(string(content)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func cgroupHierarchies() ([]string, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, mount := range mounts {
		if mount.kind == "cgroup" || mount.kind == "cgroup2" {
			dirs = append(dirs, mount.point)
		}
	}
	if len(dirs) == 0 {
		return nil, errors.New("no cgroups are mounted on this machine")
	}
	return dirs, nil
}
