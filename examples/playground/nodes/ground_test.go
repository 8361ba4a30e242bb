package nodes_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/nodes"
)

// shared is the cluster of all tests; each works in a namespace of its own.
var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	var err error
	shared, err = cluster.Start(ctx, cluster.Options{Nodes: 3, Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Stop()
	return m.Run()
}

// ground is one test's namespace.
type ground struct {
	*testing.T
	namespace string
}

func newGround(t *testing.T) ground {
	t.Helper()
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	namespace, err := shared.Client().CoreV1().Namespaces().Create(t.Context(), wanted, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g := ground{t, namespace.Name}
	g.eventually(func() error {
		_, err := shared.Client().CoreV1().ServiceAccounts(g.namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return g
}

// create makes a pod of containers "name=image" on any simulated node, after
// the edits.
func (g ground) create(containers string, edits ...func(*corev1.Pod)) *corev1.Pod {
	g.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"}}
	for _, container := range strings.Fields(containers) {
		name, image, _ := strings.Cut(container, "=")
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: image})
	}
	for _, edit := range edits {
		edit(pod)
	}
	created, err := shared.Client().CoreV1().Pods(g.namespace).Create(g.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		g.Fatal(err)
	}
	return created
}

// createReady is create, and waits until the pod is ready.
func (g ground) createReady(containers string, edits ...func(*corev1.Pod)) *corev1.Pod {
	g.Helper()
	return g.until(g.create(containers, edits...).Name, isReady)
}

func (g ground) get(name string) *corev1.Pod {
	g.Helper()
	pod, err := shared.Client().CoreV1().Pods(g.namespace).Get(g.Context(), name, metav1.GetOptions{})
	if err != nil {
		g.Fatal(err)
	}
	return pod
}

func (g ground) patch(name, patch string, subresources ...string) {
	g.Helper()
	_, err := shared.Client().CoreV1().Pods(g.namespace).Patch(g.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		g.Fatal(err)
	}
}

func (g ground) setImage(name, container, image string) {
	g.Helper()
	g.patch(name, fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"image":%q}]}}`, container, image))
}

// until waits until the pod is as wanted, and returns it.
func (g ground) until(name string, wanted func(*corev1.Pod) error) *corev1.Pod {
	g.Helper()
	var pod *corev1.Pod
	g.eventually(func() error {
		pod = g.get(name)
		return wanted(pod)
	})
	return pod
}

func (g ground) eventually(wanted func() error) {
	g.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := wanted()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			g.Fatalf("after a minute still: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func isReady(pod *corev1.Pod) error {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("pod %s is not ready: %+v", pod.Name, pod.Status)
}

// runs waits for an image that a container runs and is ready with.
func runs(container, image string) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		status := statusOf(pod, container)
		if status.Image != image || status.State.Running == nil || !status.Ready {
			return fmt.Errorf("container %s is %+v, want it to run %s", container, status, image)
		}
		return nil
	}
}

// waits waits for the reason of a container that is held.
func waits(container, reason string) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		status := statusOf(pod, container)
		if status.State.Waiting == nil || status.State.Waiting.Reason != reason {
			return fmt.Errorf("container %s is %+v, want it to wait for reason %s", container, status, reason)
		}
		return nil
	}
}

func statusOf(pod *corev1.Pod, container string) corev1.ContainerStatus {
	for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if status.Name == container {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value) }
}

func onNode(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = name }
}

// simulate starts more nodes, which get no pods of other tests, and removes
// them when the test is over.
func (g ground) simulate(options nodes.Options) *nodes.Simulator {
	g.Helper()
	options.Cordoned = true
	simulator, err := nodes.Start(g.Context(), shared.Config(), options)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() {
		simulator.Stop()
		for _, name := range simulator.Names() {
			err := shared.Client().CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				g.Error(err)
			}
		}
	})
	return simulator
}
