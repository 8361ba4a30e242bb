// Package binaries gives the programs of a Kubernetes cluster: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler and kubelet.
//
// They are one multi-call binary, compiled from the module in kube/. Compiling
// takes minutes, so the result is kept in the user's cache folder under a key
// made from everything it depends on, and every later call only finds it.
//
//	key the sources    the Kubernetes version, main.go, go.mod and go.sum
//	found              done
//	lock               the other process that builds may be about to finish
//	build              into a folder beside, renamed when it is whole
package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// multicall is the name of the one real file; the others are links to it.
const multicall = "kube"

// programs are the names the multi-call binary answers to.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"}

// Folder holds the programs, each under its usual name.
type Folder string

// Path is the file to start for a program such as "kube-apiserver".
func (f Folder) Path(program string) string { return filepath.Join(string(f), program) }

// Ensure returns the folder with the programs and builds them first if this
// machine has not yet. What it does is told on log; a terminal gets a moving
// line. It must be called with the playground's module, or a module that
// requires it, as the working directory's.
func Ensure(ctx context.Context, log io.Writer) (Folder, error) {
	src, err := findSource(ctx)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	root := filepath.Join(cache, "situ-playground")
	folder := filepath.Join(root, src.key())
	if exists(folder) {
		return Folder(folder), nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(root, "lock"), log)
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(folder) {
		return Folder(folder), nil
	}
	if err := buildInto(ctx, src, folder, log); err != nil {
		return "", fmt.Errorf("build Kubernetes %s: %w", src.version, err)
	}
	return Folder(folder), nil
}

// buildInto makes folder appear at once and whole, so that a build that was
// killed leaves nothing that looks like a finished one.
func buildInto(ctx context.Context, src source, folder string, log io.Writer) error {
	draft, err := os.MkdirTemp(filepath.Dir(folder), "draft-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	if err := src.build(ctx, filepath.Join(draft, multicall), log); err != nil {
		return err
	}
	for _, program := range programs {
		if err := os.Symlink(multicall, filepath.Join(draft, program)); err != nil {
			return err
		}
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return err
	}
	return os.Rename(draft, folder)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
