package stories

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"

	"situ.gitops/examples/playground/visitor"
)

// nodeVerbs need containers that really run.
var nodeVerbs = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"visit":      visitService,
	"visited":    visited,
	"ask":        ask,
	"limits":     limits,
	"containers": containers,
}

// visitService begins to send requests to a Service, until the story ends.
func visitService(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 1, "visit SERVICE")
	s := of(ts)
	v, err := visitor.Start(s.ctx, s.client(), s.namespace, args[0])
	ts.Check(err)
	ts.Defer(v.Close)
	s.visitors[args[0]] = v
}

// visited tells how the requests to a Service went until now, and wants no
// more of them to have failed than it says.
func visited(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "visited SERVICE [failed=NUMBER]"
	expect(ts, !neg && (len(args) == 1 || len(args) == 2), usage)
	v := of(ts).visitors[args[0]]
	expect(ts, v != nil, "visit SERVICE, before: visited SERVICE")
	account := v.Since(time.Time{})
	fmt.Fprintf(ts.Stdout(), "%s: %s\n", args[0], account)
	if len(args) == 1 {
		return
	}
	what, b, ok := parseBound(args[1])
	expect(ts, ok && what == "failed", usage)
	if !b.holds(account.Failed) || account.Visits == 0 {
		ts.Fatalf("%s: %s; want %s failed", args[0], account, b)
	}
}

// ask prints what each pod of a selector answers.
func ask(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 2, "ask SELECTOR PATH")
	s := of(ts)
	pods, err := s.pods(args[0])
	ts.Check(err)
	client := http.Client{Timeout: 5 * time.Second}
	for _, pod := range pods {
		request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "http://"+pod.Status.PodIP+":8080"+args[1], nil)
		ts.Check(err)
		response, err := client.Do(request)
		ts.Check(err)
		_, err = io.Copy(ts.Stdout(), response.Body)
		ts.Check(errors.Join(err, response.Body.Close()))
	}
}

// containers prints the ids of the containers that run in a selector's pods.
func containers(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 1, "containers SELECTOR")
	pods, err := of(ts).pods(args[0])
	ts.Check(err)
	var ids []string
	for _, pod := range pods {
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			ids = append(ids, pod.Name+" "+status.Name+" "+status.ContainerID)
		}
	}
	slices.Sort(ids)
	fmt.Fprintln(ts.Stdout(), strings.Join(ids, "\n"))
}

// limits prints what the kernel grants a container of each pod of a selector:
// its cpu quota in millicores and its memory in bytes.
func limits(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 2, "limits SELECTOR CONTAINER")
	pods, err := of(ts).pods(args[0])
	ts.Check(err)
	for _, pod := range pods {
		status := statusOf(pod, args[1])
		if status == nil {
			ts.Fatalf("pod %s has no container %s", pod.Name, args[1])
		}
		granted, err := limitsOf(pod, status)
		ts.Check(err)
		fmt.Fprintf(ts.Stdout(), "%s: %s\n", pod.Name, granted)
	}
}

// limitsOf reads the files of a container's cgroup, of version 1 or 2.
func limitsOf(pod *corev1.Pod, status *corev1.ContainerStatus) (string, error) {
	_, id, _ := strings.Cut(status.ContainerID, "//")
	files, err := cgroupFiles(id)
	if err != nil {
		return "", err
	}
	var quota, period, memory string
	switch {
	case files["cpu.max"] != "":
		quota, period, _ = strings.Cut(files["cpu.max"], " ")
		memory = files["memory.max"]
	default:
		quota, period, memory = files["cpu.cfs_quota_us"], files["cpu.cfs_period_us"], files["memory.limit_in_bytes"]
	}
	if quota == "" || memory == "" {
		return "", fmt.Errorf("container %s of pod %s has no cgroup that limits it", status.Name, pod.Name)
	}
	return fmt.Sprintf("cpu %s of %s, memory %s", quota, period, memory), nil
}

// cgroupFiles are the limits in all cgroups that are named after a container.
func cgroupFiles(id string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || entry.Name() != id || id == "" {
			return nil // cgroups come and go
		}
		for _, name := range []string{"cpu.max", "memory.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes"} {
			if content, err := os.ReadFile(filepath.Join(path, name)); err == nil {
				found[name] = strings.TrimSpace(string(content))
			}
		}
		return fs.SkipDir
	})
	return found, err
}
