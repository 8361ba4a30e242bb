package realnode

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/registry"
)

const (
	patience = 45 * time.Second
	poll     = 50 * time.Millisecond
)

// ground is a control plane and a registry for one test.
type ground struct {
	cluster  *cluster.Cluster
	registry *registry.Registry
}

func newGround(t *testing.T) *ground {
	t.Helper()
	r, err := registry.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, r.Close()) })
	c, err := cluster.Start(t.Context(), cluster.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, c.Stop()) })
	return &ground{cluster: c, registry: r}
}

// join starts the node and ends it with the test, if the test does not.
func (g *ground) join(t *testing.T) *Node {
	t.Helper()
	node, err := Join(t.Context(), g.cluster, g.registry)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(node.site.dir); err == nil {
			check(t, node.Stop(context.WithoutCancel(t.Context())))
		}
	})
	return node
}

// childOptions tells the test binary to be a node instead of testing.
const childOptions = "REALNODE_CHILD"

func TestMain(m *testing.M) {
	if options := os.Getenv(childOptions); options != "" {
		os.Exit(beNode(strings.Split(options, "\n")))
	}
	os.Exit(m.Run())
}

func beNode(options []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	node, err := Start(ctx, Options{Kubeconfig: options[0], Kubelet: options[1], Registry: options[2]})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(node.site.id)
	<-ctx.Done()
	return 0
}

// joinInAnotherProcess gives a node that can be killed together with its owner.
func (g *ground) joinInAnotherProcess(t *testing.T) (*exec.Cmd, string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childOptions+"="+strings.Join([]string{
		g.cluster.Kubeconfig(), g.cluster.Programs().Path("kubelet"), g.registry.Host()}, "\n"))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Process.Kill() }) // no error if it has ended
	id, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || len(id) != 7 {
		t.Fatalf("the node in another process: %q, %v", id, err)
	}
	return child, strings.TrimSpace(id)
}

func (g *ground) setImage(t *testing.T, pod, container, image string) {
	t.Helper()
	g.patch(t, pod, fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"image":%q}]}}`, container, image))
}

func (g *ground) patch(t *testing.T, pod, patch string) {
	t.Helper()
	_, err := g.cluster.Client().CoreV1().Pods("default").Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	check(t, err)
}

func (g *ground) create(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod, err := g.cluster.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	check(t, err)
	return pod
}

func (g *ground) log(t *testing.T, pod, container string) string {
	t.Helper()
	content, err := g.cluster.Client().CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{Container: container}).DoRaw(t.Context())
	check(t, err)
	return string(content)
}

func (g *ground) waitUntilReady(t *testing.T, pod string) *corev1.Pod {
	t.Helper()
	return g.waitFor(t, "readiness", pod, ready)
}

func (g *ground) waitForRestart(t *testing.T, before *corev1.Pod, container string, times int32) *corev1.Pod {
	t.Helper()
	return g.waitFor(t, fmt.Sprintf("%d restarts of %s", times, container), before.Name, func(pod *corev1.Pod) bool {
		return ready(pod) && status(t, pod, container).RestartCount == times
	})
}

func (g *ground) waitFor(t *testing.T, what, name string, done func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		pod, err := g.cluster.Client().CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		check(t, err)
		if len(pod.Status.ContainerStatuses) > 0 && done(pod) {
			return pod
		}
		if time.Now().After(deadline) {
			t.Fatalf("wait for %s: pod %s is still %+v", what, name, pod.Status)
		}
		time.Sleep(poll)
	}
}

func (g *ground) waitForAnswer(t *testing.T, pod *corev1.Pod, path, want string) {
	t.Helper()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	deadline := time.Now().Add(patience)
	for {
		got, err := answer(client, "http://"+pod.Status.PodIP+":8080"+path)
		if err == nil && got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("GET %s of %s = %q, %v; want %q", path, pod.Name, got, err, want)
		}
		time.Sleep(poll)
	}
}

func answer(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
