//go:build unix

package gitrepo

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir makes the folder this process's own. The kernel drops the lock when
// the process ends, however it ends.
func lockDir(dir string) (func(), error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s is in use by another process; give each its own cache folder: %w", dir, err)
	}
	return func() { _ = f.Close() }, nil
}
