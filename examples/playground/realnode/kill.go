package realnode

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killPrograms kills a node's own programs (not its containers) that were started
// for the site dir, and waits until they are gone. After an orderly stop there is
// none.
func killPrograms(dir string) error {
	deadline := time.Now().Add(endTimeout)
	for {
		pids, err := programs(dir)
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of %s do not end", pids, dir)
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile; the next look tells
		}
		time.Sleep(endPoll)
	}
}

// programs finds processes by their arguments: everything that belongs to a site
// was told a path in it.
func programs(dir string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		arguments, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err == nil && belongs(arguments, dir) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// belongs tells a node's program from, say, an editor that shows one of its files.
func belongs(cmdline []byte, dir string) bool {
	program, arguments, _ := bytes.Cut(cmdline, []byte{0})
	switch name := filepath.Base(string(program)); name {
	case "containerd", "containerd-shim-runc-v2", "kubelet", "runc":
		return strings.Contains(string(arguments), dir+"/")
	}
	return false
}
