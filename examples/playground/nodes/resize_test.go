package nodes_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"situ.gitops/examples/playground/nodes"
)

func TestAResizeIsReportedWithoutARestart(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	pod := g.createReady("web=shop/web:v1", requesting("100m"))
	g.resize(pod.Name, "200m")
	after := g.until(pod.Name, hasCPU("200m"))
	if web := statusOf(after, "web"); web.RestartCount != 0 || web.ContainerID != statusOf(pod, "web").ContainerID {
		t.Errorf("web = %+v, want the same container", web)
	}
}

func TestAResizeRestartsAContainerWhosePolicySaysSo(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	pod := g.createReady("web=shop/web:v1", requesting("100m"), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	})
	g.resize(pod.Name, "200m")
	if web := statusOf(g.until(pod.Name, hasCPU("200m")), "web"); web.RestartCount != 1 {
		t.Errorf("web restarted %d times, want once", web.RestartCount)
	}
}

func TestAResizeThatIsRefusedIsPending(t *testing.T) {
	for _, outcome := range []nodes.Resize{nodes.Deferred, nodes.Infeasible} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			g := newGround(t)
			pod := g.createReady("web=shop/web:v1", requesting("100m"), annotated(nodes.AnnotationResize, string(outcome)))
			g.resize(pod.Name, "200m")
			g.until(pod.Name, pendingResize(string(outcome)))
			if err := hasCPU("100m")(g.get(pod.Name)); err != nil {
				t.Errorf("a resize that is refused: %v", err)
			}
			g.resize(pod.Name, "100m")
			g.until(pod.Name, pendingResize(""))
		})
	}
}

func requesting(cpu string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
}

func (g ground) resize(pod, cpu string) {
	g.Helper()
	g.patch(pod, fmt.Sprintf(`{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":%q}}}]}}`, cpu), "resize")
}

func hasCPU(want string) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		resources := statusOf(pod, "web").Resources
		if resources == nil {
			return errors.New("web reports no resources")
		}
		if cpu := resources.Requests[corev1.ResourceCPU]; cpu.Cmp(resource.MustParse(want)) != 0 {
			return fmt.Errorf("web reports %s cpu, want %s", cpu.String(), want)
		}
		return nil
	}
}

// pendingResize wants the condition with that reason; none for "".
func pendingResize(reason string) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		found := ""
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodResizePending {
				found = condition.Reason
			}
		}
		if found != reason {
			return fmt.Errorf("the resize is pending with reason %q, want %q", found, reason)
		}
		return nil
	}
}
