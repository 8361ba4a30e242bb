package realnode

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// sites is where every node has its folder. It is not below a temporary folder:
// those may be too deep for a socket's name, or on a file system without overlays.
const sites = "/var/lib/situ-playground"

// lockName is the file that is locked as long as a site's owner lives.
const lockName = "lock"

// site is the folder of one node. What cannot be in it carries its id, so that
// remove needs to know nothing else: also not how far a killed run had come.
type site struct {
	id  string
	dir string
	// lock is held until the site is gone. The kernel drops it if we are killed.
	lock *os.File
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }
func (s *site) socket() string          { return s.path("containerd.sock") }
func (s *site) bridge() string          { return "situ-" + s.id }
func (s *site) cgroup() string          { return "situ-playground-" + s.id }

// claim makes a site and chooses its network. Sites whose owner was killed are
// removed first. One process at a time does this.
func claim(ctx context.Context) (*site, network, error) {
	if err := os.MkdirAll(sites, 0o711); err != nil {
		return nil, network{}, fmt.Errorf("make the node's folder: %w", err)
	}
	turn, err := takeTurn(ctx)
	if err != nil {
		return nil, network{}, err
	}
	defer turn.Close()
	if err := removeLeftovers(ctx); err != nil {
		return nil, network{}, fmt.Errorf("remove what a killed run left: %w", err)
	}

	s := newSite()
	if err := os.MkdirAll(s.path("log"), 0o711); err != nil {
		return nil, network{}, fmt.Errorf("make the node's folder: %w", err)
	}
	if s.lock, err = lock(s.path(lockName)); err != nil {
		return nil, network{}, err
	}
	n, err := chooseNetwork(s.bridge())
	if err != nil {
		return nil, network{}, errors.Join(err, s.remove(ctx))
	}
	// Up while it is our turn, so that the next one sees the subnet in use.
	if err := n.up(ctx); err != nil {
		return nil, network{}, errors.Join(err, s.remove(ctx))
	}
	return s, n, nil
}

func newSite() *site {
	var id [3]byte
	rand.Read(id[:])
	name := hex.EncodeToString(id[:])
	return &site{id: name, dir: filepath.Join(sites, name)}
}

// removeLeftovers removes the sites nobody holds the lock of.
func removeLeftovers(ctx context.Context) error {
	entries, err := os.ReadDir(sites)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		s := &site{id: entry.Name(), dir: filepath.Join(sites, entry.Name())}
		s.lock, err = lock(s.path(lockName))
		if errors.Is(err, syscall.EWOULDBLOCK) {
			continue // its owner lives
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, s.remove(ctx))
	}
	return errors.Join(errs...)
}

// remove takes away everything of the site, by force where needed, in the
// caller's turn. It may be called again after an error; what is gone
// already is no error.
func (s *site) remove(ctx context.Context) error {
	err := errors.Join(
		killPrograms(s.dir, "kubelet", "containerd", "runc"),
		removeCgroups(ctx, s.cgroup()),
		killPrograms(s.dir, "containerd-shim-runc-v2"), // the containers' parents: they had to bury them
		unmountBelow(s.dir),
		removeBridge(ctx, s.bridge()),
		removeNetworkCache(s.bridge()),
		s.removeShimSockets(),
		s.removeLogLinks(),
		s.removePluginSocket(),
	)
	if err != nil {
		return err // the folder stays, so that the next start tries again
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the node's folder: %w", err)
	}
	return s.lock.Close()
}

// turnTimeout is longer than the removal of a killed run can take.
const turnTimeout = time.Minute

// takeTurn waits until no other process makes or removes a site, and keeps the
// others waiting until the file is closed.
func takeTurn(ctx context.Context) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	for {
		turn, err := lock(filepath.Join(sites, lockName))
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return turn, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another real node to start or stop: %w", ctx.Err())
		case <-time.After(readyPoll):
		}
	}
}

// lock opens path, makes it if need be, and holds it until it is closed. Held by
// somebody else it is EWOULDBLOCK.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}
