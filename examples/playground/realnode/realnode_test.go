package realnode

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"situ.gitops/examples/playground/registry"
)

func TestPodsOfARealNodeAreUpdatedInPlace(t *testing.T) {
	g := newGround(t)
	node := g.join(t)
	web := g.deploy(t, "web", 2)

	t.Run("each has an address the host reaches", func(t *testing.T) {
		if a, b := web[0].Status.PodIP, web[1].Status.PodIP; a == b {
			t.Errorf("both pods have the address %s", a)
		}
		for _, pod := range web {
			g.waitForAnswer(t, pod, "/", "v1\n")
			if !node.network.subnet.Contains(address(t, pod)) {
				t.Errorf("pod address = %s, want one in %s", pod.Status.PodIP, node.network.subnet)
			}
		}
	})

	t.Run("an image restarts its container and nothing else", func(t *testing.T) {
		before := web[0]
		g.setImage(t, before.Name, "app", g.registry.Image("app", "v2"))
		g.waitForAnswer(t, before, "/", "v2\n")
		after := g.waitForRestart(t, before, "app", 1)
		g.assertSamePod(t, before, after)
		if got, want := status(t, after, "side"), status(t, before, "side"); got.ContainerID != want.ContainerID || got.RestartCount != 0 {
			t.Errorf("the other container = %s with %d restarts, want %s with 0", got.ContainerID, got.RestartCount, want.ContainerID)
		}
		want := registry.Name + "/app@" + g.registry.Digest("app", "v2")
		if got := status(t, after, "app").ImageID; got != want {
			t.Errorf("imageID = %s, want %s", got, want)
		}
	})

	t.Run("a missing image is told with its name", func(t *testing.T) {
		image := g.registry.Image("app", registry.Missing)
		pod := g.create(t, newPod("missing", image))
		g.waitFor(t, "ErrImagePull", pod.Name, func(pod *corev1.Pod) bool {
			waiting := status(t, pod, "app").State.Waiting
			return waiting != nil && waiting.Reason == "ErrImagePull" &&
				strings.Contains(waiting.Message, image) && strings.Contains(waiting.Message, "not found")
		})
	})

	t.Run("a digest for the tag restarts it with the annotation's new value", func(t *testing.T) {
		before := g.waitUntilReady(t, g.create(t, newPod("env", g.registry.Image("app", "v1"))).Name)
		g.waitForAnswer(t, before, "/env", "APP_COLOR=blue\n")
		digest := g.registry.Image("app", "v1") + "@" + g.registry.Digest("app", "v1")
		g.patch(t, before.Name, `{"metadata":{"annotations":{"color":"green"}},"spec":{"containers":[{"name":"app","image":"`+digest+`"}]}}`)
		g.waitForAnswer(t, before, "/env", "APP_COLOR=green\n")
		after := g.waitForRestart(t, before, "app", 1)
		g.assertSamePod(t, before, after)
		if got, want := status(t, after, "app").ImageID, status(t, before, "app").ImageID; got != want {
			t.Errorf("imageID = %s, want %s as before", got, want)
		}
	})

	t.Run("its log is read through the API server", func(t *testing.T) {
		if got, want := g.log(t, web[0].Name, "app"), "app v2 listens on :8080\n"; got != want {
			t.Errorf("log = %q, want %q", got, want)
		}
	})

	t.Run("and is not restarted again afterwards", func(t *testing.T) {
		// The pods created since have made the kubelet look at everything again.
		g.assertRestarts(t, web[0].Name, map[string]int32{"app": 1, "side": 0})
		g.assertRestarts(t, web[1].Name, map[string]int32{"app": 0, "side": 0})
	})
}

func TestANodeLeavesNothingBehindHoweverItEnds(t *testing.T) {
	g := newGround(t)

	t.Run("stopped, and started again", func(t *testing.T) {
		forwarding := read(t, "/proc/sys/net/ipv4/ip_forward")
		first := g.join(t)
		pod := g.deploy(t, "stopped", 1)[0]
		id, pairs := assertTraces(t, first.site.id)
		check(t, first.Stop(t.Context()))
		assertGone(t, id, pairs)
		if got := read(t, "/proc/sys/net/ipv4/ip_forward"); got != forwarding {
			t.Errorf("ip_forward = %q after Stop, was %q", got, forwarding)
		}

		second := g.join(t)
		g.waitFor(t, "an address of the second run", pod.Name, func(pod *corev1.Pod) bool {
			return ready(pod) && second.network.subnet.Contains(address(t, pod))
		})
	})

	t.Run("stopped in a hurry", func(t *testing.T) {
		node := g.join(t)
		g.deploy(t, "hurried", 1)
		id, pairs := assertTraces(t, node.site.id)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := node.Stop(over); err == nil {
			t.Error("Stop with a context that is over = nil, want to be told that pods were not ended in order")
		}
		assertGone(t, id, pairs)
	})

	t.Run("killed: the next start takes it away", func(t *testing.T) {
		child, id := g.joinInAnotherProcess(t)
		g.deploy(t, "killed", 1)
		check(t, child.Process.Kill())
		child.Wait() //nolint:errcheck // it was killed
		_, pairs := assertTraces(t, id)
		g.join(t)
		assertGone(t, id, pairs)
	})
}

func TestAMachineWithoutThePackagesIsToldTheirNames(t *testing.T) {
	nothing := func(string) (string, error) { return "", exec.ErrNotFound }
	err := require(nothing)
	if err == nil {
		t.Fatal("require on an empty machine = nil")
	}
	for _, want := range []string{"runc", "host-local", "apt-get install containerd runc iproute2 containernetworking-plugins"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("require = %q, want it to name %q", err, want)
		}
	}
}

func TestAProgramThatCannotStartIsToldWithItsLog(t *testing.T) {
	p, err := run("runc", t.TempDir(), "runc", "no-such-command")
	if err != nil {
		t.Fatal(err)
	}
	err = p.await(t.Context(), func(context.Context) error { return os.ErrNotExist })
	if err == nil || !strings.Contains(err.Error(), "runc ended before it was ready") || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("await = %v, want the end of runc and its log", err)
	}
}
