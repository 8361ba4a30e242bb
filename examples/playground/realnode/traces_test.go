package realnode

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// traces is everything on this machine that carries a node's id. Other nodes may
// run at the same time.
func traces(t *testing.T, id string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{
		filepath.Join(sites, id),
		filepath.Join(cniResults, "situ-"+id+"-*"),
		"/sys/class/net/situ-" + id,
		"/sys/fs/cgroup/situ-playground-" + id,
		"/sys/fs/cgroup/*/situ-playground-" + id,
	} {
		files, err := filepath.Glob(pattern)
		check(t, err)
		found = append(found, files...)
	}
	for line := range strings.Lines(read(t, "/proc/self/mountinfo")) {
		if strings.Contains(line, filepath.Join(sites, id)+"/") {
			found = append(found, "mount "+line)
		}
	}
	return append(found, processTraces(t, id)...)
}

// processTraces finds the node's programs by their arguments and its containers
// by their cgroups.
func processTraces(t *testing.T, id string) []string {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	check(t, err)
	var found []string
	for _, process := range processes {
		// A process may end while it is looked at.
		arguments, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		cgroups, _ := os.ReadFile(filepath.Join(process, "cgroup"))
		if len(arguments) == 0 {
			continue // it has ended, and only its parent has not asked how
		}
		if strings.Contains(string(arguments), filepath.Join(sites, id)) || strings.Contains(string(cgroups), "situ-playground-"+id) {
			found = append(found, process+" "+strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	return found
}

// interfaces are the host's ends of the pods' networks.
func interfaces(t *testing.T, bridge string) []string {
	t.Helper()
	ports, err := filepath.Glob("/sys/class/net/" + bridge + "/brif/*")
	check(t, err)
	for i := range ports {
		ports[i] = filepath.Base(ports[i])
	}
	return ports
}

// assertTraces proves that a running node is seen, so that assertGone means
// something. It gives what assertGone wants.
func assertTraces(t *testing.T, id string) (string, []string) {
	t.Helper()
	if left := traces(t, id); len(left) < 5 {
		t.Fatalf("traces of node %s = %q, want many", id, left)
	}
	pairs := interfaces(t, "situ-"+id)
	if len(pairs) == 0 {
		t.Fatalf("node %s has no pod on its bridge", id)
	}
	return id, pairs
}

func assertGone(t *testing.T, id string, pairs []string) {
	t.Helper()
	if left := traces(t, id); len(left) > 0 {
		t.Errorf("still on this machine: %q", left)
	}
	for _, name := range pairs {
		if _, err := net.InterfaceByName(name); err == nil {
			t.Errorf("the pod's interface %s is still on this machine", name)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	check(t, err)
	return string(content)
}
