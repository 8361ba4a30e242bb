package realnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cniPlugins is where Debian puts them.
const cniPlugins = "/usr/lib/cni"

// needs are the programs of a node, with the Debian packages that bring them.
var needs = []struct{ program, debian string }{
	{"containerd", "containerd"},
	{"containerd-shim-runc-v2", "containerd"},
	{"runc", "runc"},
	{"ip", "iproute2"},
	{filepath.Join(cniPlugins, "bridge"), "containernetworking-plugins"},
	{filepath.Join(cniPlugins, "host-local"), "containernetworking-plugins"},
	{filepath.Join(cniPlugins, "loopback"), "containernetworking-plugins"},
}

// preflight says at once everything this machine lacks to be a node.
func preflight() error {
	if os.Geteuid() != 0 {
		return errors.New("a real node needs root; simulated nodes do not")
	}
	return require(exec.LookPath)
}

// require asks find for every program of needs.
func require(find func(program string) (string, error)) error {
	var programs, packages []string
	seen := map[string]bool{}
	for _, need := range needs {
		if _, err := find(need.program); err == nil {
			continue
		}
		programs = append(programs, filepath.Base(need.program))
		if !seen[need.debian] {
			seen[need.debian] = true
			packages = append(packages, need.debian)
		}
	}
	if len(programs) == 0 {
		return nil
	}
	return fmt.Errorf("this machine has no %s; on Debian: apt-get install %s",
		strings.Join(programs, ", "), strings.Join(packages, " "))
}
