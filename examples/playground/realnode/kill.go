package realnode

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killPrograms kills the programs of these names that were started for the site
// dir, and waits until they are gone. After an orderly stop there is none.
func killPrograms(dir string, names ...string) error {
	deadline := time.Now().Add(endTimeout)
	for {
		pids, err := programs(dir, names)
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
func programs(dir string, names []string) ([]int, error) {
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
		if err == nil && belongs(arguments, dir, names) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// belongs tells a node's program from, say, an editor that shows one of its files.
func belongs(cmdline []byte, dir string, names []string) bool {
	program, arguments, _ := bytes.Cut(cmdline, []byte{0})
	return slices.Contains(names, filepath.Base(string(program))) && strings.Contains(string(arguments), dir+"/")
}
