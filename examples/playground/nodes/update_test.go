package nodes_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"situ.gitops/examples/playground/nodes"
)

func TestAnImageChangeRestartsThatContainerOnce(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	before := g.createReady("web=shop/web:v1 log=shop/log:v1")
	g.setImage(before.Name, "web", "shop/web:v2")
	after := g.until(before.Name, runs("web", "shop/web:v2"))

	if after.UID != before.UID || after.Status.PodIP != before.Status.PodIP || after.Spec.NodeName != before.Spec.NodeName {
		t.Errorf("the pod became another: UID %s -> %s, IP %s -> %s", before.UID, after.UID, before.Status.PodIP, after.Status.PodIP)
	}
	old, web := statusOf(before, "web"), statusOf(after, "web")
	if web.RestartCount != 1 {
		t.Errorf("web restarted %d times, want once", web.RestartCount)
	}
	if web.ContainerID == old.ContainerID {
		t.Errorf("web is still the container %s", old.ContainerID)
	}
	if last := web.LastTerminationState.Terminated; last == nil || last.ContainerID != old.ContainerID {
		t.Errorf("web's last state = %+v, want the end of %s", last, old.ContainerID)
	}
	if web.ImageID != nodes.ImageID("shop/web:v2") {
		t.Errorf("web's imageID = %q, want %q", web.ImageID, nodes.ImageID("shop/web:v2"))
	}
	if was, is := statusOf(before, "log"), statusOf(after, "log"); is.ContainerID != was.ContainerID || is.RestartCount != 0 {
		t.Errorf("log was touched: %+v -> %+v", was, is)
	}
	if after.Status.ObservedGeneration != after.Generation {
		t.Errorf("observed generation = %d, want %d", after.Status.ObservedGeneration, after.Generation)
	}
}

func TestASidecarRestartsAndAPlainInitContainerDoesNot(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	before := g.createReady("web=shop/web:v1", func(pod *corev1.Pod) {
		always := corev1.ContainerRestartPolicyAlways
		pod.Spec.InitContainers = []corev1.Container{
			{Name: "prepare", Image: "shop/prepare:v1"},
			{Name: "proxy", Image: "shop/proxy:v1", RestartPolicy: &always},
		}
	})
	g.patch(before.Name, `{"spec":{"initContainers":[{"name":"prepare","image":"shop/prepare:v2"},{"name":"proxy","image":"shop/proxy:v2"}]}}`)
	after := g.until(before.Name, runs("proxy", "shop/proxy:v2"))

	if proxy := statusOf(after, "proxy"); proxy.RestartCount != 1 {
		t.Errorf("proxy restarted %d times, want once", proxy.RestartCount)
	}
	prepare := statusOf(after, "prepare")
	if prepare.Image != "shop/prepare:v1" || prepare.State.Terminated == nil || prepare.State.Terminated.Reason != "Completed" {
		t.Errorf("prepare = %+v, want it completed with the image it ran with", prepare)
	}
	if web := statusOf(after, "web"); web.RestartCount != 0 {
		t.Errorf("web restarted %d times, want never", web.RestartCount)
	}
}

func TestASimulatorThatStartsAgainRestartsNothingTwice(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	options := nodes.Options{Count: 1, Prefix: "again-"}
	first := g.simulate(options)
	pod := g.createReady("web=shop/web:v1 log=shop/log:v1", onNode("again-0"))
	g.setImage(pod.Name, "web", "shop/web:v2")
	g.until(pod.Name, runs("web", "shop/web:v2"))
	first.Stop()
	g.setImage(pod.Name, "log", "shop/log:v2")

	g.simulate(options)
	after := g.until(pod.Name, runs("log", "shop/log:v2"))
	for _, name := range []string{"web", "log"} {
		if status := statusOf(after, name); status.RestartCount != 1 {
			t.Errorf("%s restarted %d times, want once", name, status.RestartCount)
		}
	}
	if after.Status.PodIP != pod.Status.PodIP {
		t.Errorf("the pod's address changed from %s to %s", pod.Status.PodIP, after.Status.PodIP)
	}
}

func TestAnImageIDIsStableAndKeepsAGivenDigest(t *testing.T) {
	byTag := nodes.ImageID("localhost:5000/shop/web:v1")
	_, digest := cut(byTag)
	for _, tt := range []struct {
		image, want string
	}{
		{"localhost:5000/shop/web:v1", byTag},
		{"localhost:5000/shop/web:v1@" + digest, byTag},
		{"localhost:5000/shop/web@" + digest, byTag},
		{"localhost:5000/shop/web", nodes.ImageID("localhost:5000/shop/web:latest")},
	} {
		if id := nodes.ImageID(tt.image); id != tt.want {
			t.Errorf("ImageID(%q) = %q, want %q", tt.image, id, tt.want)
		}
	}
	if other := nodes.ImageID("localhost:5000/shop/web:v2"); other == byTag {
		t.Errorf("two tags have the imageID %q", other)
	}
}

func cut(imageID string) (repository, digest string) {
	repository, digest, _ = strings.Cut(imageID, "@")
	return repository, digest
}
