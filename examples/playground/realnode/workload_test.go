package realnode

import (
	"net/netip"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"situ.gitops/examples/playground/registry"
)

// deploy makes a Deployment of two-container pods and returns them when all are
// ready.
func (g *ground) deploy(t *testing.T, name string, replicas int32) []*corev1.Pod {
	t.Helper()
	pod := newPod(name, g.registry.Image("app", "v1"))
	labels := map[string]string{"app": name}
	_, err := g.cluster.Client().AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: pod.Annotations},
				Spec:       pod.Spec,
			},
		},
	}, metav1.CreateOptions{})
	check(t, err)

	var pods []*corev1.Pod
	for _, name := range g.waitForPods(t, "app="+name, int(replicas)) {
		pods = append(pods, g.waitUntilReady(t, name))
	}
	return pods
}

func (g *ground) waitForPods(t *testing.T, selector string, n int) []string {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		list, err := g.cluster.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		check(t, err)
		if len(list.Items) == n {
			var names []string
			for _, pod := range list.Items {
				names = append(names, pod.Name)
			}
			return names
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d pods with %s, want %d", len(list.Items), selector, n)
		}
		time.Sleep(poll)
	}
}

// newPod is an app that shows an annotation in its environment, and a sidecar.
func newPod(name, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"color": "blue"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{Label: LabelValue},
			Containers: []corev1.Container{
				{
					Name:  "app",
					Image: image,
					Env: []corev1.EnvVar{{Name: "APP_COLOR", ValueFrom: &corev1.EnvVarSource{
						FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['color']"},
					}}},
					ReadinessProbe: &corev1.Probe{
						PeriodSeconds: 1,
						ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}},
					},
				},
				{Name: "side", Image: registry.Name + "/sidecar:v1"},
			},
		},
	}
}

func (g *ground) assertSamePod(t *testing.T, before, after *corev1.Pod) {
	t.Helper()
	if before.UID != after.UID || before.Status.PodIP != after.Status.PodIP {
		t.Errorf("pod %s = UID %s, IP %s; want UID %s, IP %s as before",
			after.Name, after.UID, after.Status.PodIP, before.UID, before.Status.PodIP)
	}
}

func (g *ground) assertRestarts(t *testing.T, name string, want map[string]int32) {
	t.Helper()
	pod := g.waitUntilReady(t, name)
	for container, restarts := range want {
		if got := status(t, pod, container).RestartCount; got != restarts {
			t.Errorf("%s of %s restarted %d times, want %d", container, name, got, restarts)
		}
	}
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// address is the zero one until the pod has an address.
func address(t *testing.T, pod *corev1.Pod) netip.Addr {
	t.Helper()
	if pod.Status.PodIP == "" {
		return netip.Addr{}
	}
	parsed, err := netip.ParseAddr(pod.Status.PodIP)
	check(t, err)
	return parsed
}

func status(t *testing.T, pod *corev1.Pod, container string) corev1.ContainerStatus {
	t.Helper()
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == container {
			return status
		}
	}
	t.Fatalf("pod %s has no status of container %s", pod.Name, container)
	return corev1.ContainerStatus{}
}
