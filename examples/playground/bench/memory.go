package bench

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// cachedWorkloads is how many Deployments the cached pods are in.
const cachedWorkloads = 100

// resident is the peak of a process's resident memory, as Linux knows it.
var resident = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// memory measures the peak of a situ serve that creates the pods, and of one that
// starts when they are all there.
func (b *bench) memory(ctx context.Context) error {
	f := fleet{namespace: "bench-memory", pods: b.Cached, workloads: min(cachedWorkloads, b.Cached), nodes: len(b.cluster.Nodes().Names())}
	repository, err := b.ground.server.Create(ctx, f.namespace, "")
	if err != nil {
		return err
	}
	head, err := repository.Commit(ctx, "v1", f.files("v1"))
	if err != nil {
		return err
	}
	b.say("%s: situ creates %d pods in %d Deployments; this takes minutes ...", f.namespace, f.pods, f.workloads)
	creating, err := b.peak(ctx, f, head)
	if err != nil {
		return err
	}
	b.say("%s: peak while they were created %d MB; once more with all of them there ...", f.namespace, creating>>20)
	starting, err := b.peak(ctx, f, head)
	if err != nil {
		return err
	}
	b.report.memory(f.pods, creating, starting)
	return nil
}

// peak is the most memory that a situ serve needs from its start until it has
// settled on the commit and then has asked some more times.
func (b *bench) peak(ctx context.Context, f fleet, commit string) (int64, error) {
	serve, err := b.follow(ctx, f.namespace)
	if err != nil {
		return 0, err
	}
	defer serve.close()
	if _, _, err := serve.settled(ctx, commit); err != nil {
		return 0, err
	}
	if _, err := b.polled(ctx, serve, 5); err != nil {
		return 0, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", serve.pid))
	if err != nil {
		return 0, fmt.Errorf("ask Linux for situ's memory: %w", err)
	}
	match := resident.FindSubmatch(status)
	if match == nil {
		return 0, fmt.Errorf("process %d has no VmHWM", serve.pid)
	}
	kilobytes, err := strconv.ParseInt(string(match[1]), 10, 64)
	return kilobytes << 10, err
}
