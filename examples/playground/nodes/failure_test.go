package nodes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/examples/playground/nodes"
)

func TestAnImageThatIsMissingStopsItsContainerUntilItIsMended(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	pod := g.createReady("web=shop/web:v1 log=shop/log:v1")
	g.setImage(pod.Name, "web", "shop/web:missing")
	g.until(pod.Name, waits("web", "ErrImagePull"))
	broken := g.until(pod.Name, waits("web", "ImagePullBackOff"))

	web := statusOf(broken, "web")
	if !strings.Contains(web.State.Waiting.Message, `Back-off pulling image "shop/web:missing"`) {
		t.Errorf("web waits with the message %q, want the kubelet's", web.State.Waiting.Message)
	}
	if web.LastTerminationState.Terminated == nil || web.Ready {
		t.Errorf("web = %+v, want its old container ended", web)
	}
	if broken.Status.Phase != corev1.PodRunning || isReady(broken) == nil {
		t.Errorf("the pod is %s and ready: %v, want Running and not ready", broken.Status.Phase, isReady(broken) == nil)
	}

	g.setImage(pod.Name, "web", "shop/web:v3")
	mended := g.until(pod.Name, runs("web", "shop/web:v3"))
	if web := statusOf(mended, "web"); web.RestartCount != 1 {
		t.Errorf("web restarted %d times, want once: the missing image never ran", web.RestartCount)
	}
	if log := statusOf(mended, "log"); log.RestartCount != 0 {
		t.Errorf("log restarted %d times, want never", log.RestartCount)
	}
}

func TestAMissingImageThatTurnsUpIsStarted(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	const image = "shop/late:missing"
	pod := g.create("web=" + image)
	pending := g.until(pod.Name, waits("web", "ImagePullBackOff"))
	if pending.Status.Phase != corev1.PodPending {
		t.Errorf("a pod that never started is %s, want Pending", pending.Status.Phase)
	}
	shared.Nodes().SetImageFate(image, nodes.Runs)
	started := g.until(pod.Name, runs("web", image))
	if web := statusOf(started, "web"); web.RestartCount != 0 {
		t.Errorf("web restarted %d times, want never", web.RestartCount)
	}
}

func TestAContainerThatCrashesIsRestartedAgainAndAgain(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	pod := g.createReady("web=shop/web:v1 log=shop/log:v1")
	g.setImage(pod.Name, "web", "shop/web:crash")
	crashing := g.until(pod.Name, func(pod *corev1.Pod) error {
		if n := statusOf(pod, "web").RestartCount; n < 2 {
			return fmt.Errorf("web restarted %d times, want 2", n)
		}
		return waits("web", "CrashLoopBackOff")(pod)
	})
	if last := statusOf(crashing, "web").LastTerminationState.Terminated; last == nil || last.ExitCode == 0 {
		t.Errorf("web's last state = %+v, want an error", last)
	}
	if log := statusOf(crashing, "log"); log.RestartCount != 0 {
		t.Errorf("log restarted %d times, want never", log.RestartCount)
	}
	g.setImage(pod.Name, "web", "shop/web:v1")
	g.until(pod.Name, runs("web", "shop/web:v1"))
}

func TestACommandThatIsNotInTheImageTellsTheImagesDigest(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	pod := g.create("pull=shop/web:v7", func(pod *corev1.Pod) {
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		pod.Spec.Containers[0].Command = []string{"/situ.gitops/none"}
	})
	failed := g.until(pod.Name, func(pod *corev1.Pod) error {
		if pod.Status.Phase != corev1.PodFailed {
			return fmt.Errorf("the pod is %s, want Failed", pod.Status.Phase)
		}
		return nil
	})
	pull := statusOf(failed, "pull")
	if pull.State.Terminated == nil || pull.State.Terminated.Reason != "StartError" || pull.ImageID != nodes.ImageID("shop/web:v7") {
		t.Errorf("pull = %+v, want StartError and the imageID of shop/web:v7", pull)
	}
}

func TestADelayKeepsAPodFromBeingReady(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	pod := g.createReady("web=shop/web:v1", annotated(nodes.AnnotationReadyAfter, "1s"))
	began := time.Now()
	g.setImage(pod.Name, "web", "shop/web:v2")
	g.until(pod.Name, func(pod *corev1.Pod) error {
		web := statusOf(pod, "web")
		if web.Image != "shop/web:v2" || web.Ready || isReady(pod) == nil {
			return fmt.Errorf("web = %+v, want v2 running and not ready", web)
		}
		return nil
	})
	g.until(pod.Name, isReady)
	if took := time.Since(began); took < time.Second {
		t.Errorf("the pod was ready after %s, want a second at least", took)
	}
}

func TestAPodThatTakesLongToEndIsThereUntilThen(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	pod := g.createReady("web=shop/web:v1", annotated(nodes.AnnotationEndAfter, "1s"))
	began := time.Now()
	if err := shared.Client().CoreV1().Pods(g.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	g.eventually(g.isGone(pod.Name))
	if took := time.Since(began); took < time.Second {
		t.Errorf("the pod was gone after %s, want a second at least", took)
	}
}

func TestAPodFailsAtItsDeadline(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	pod := g.createReady("web=shop/web:v1")
	g.patch(pod.Name, `{"spec":{"activeDeadlineSeconds":1}}`)
	g.until(pod.Name, func(pod *corev1.Pod) error {
		if pod.Status.Phase != corev1.PodFailed || pod.Status.Reason != "DeadlineExceeded" {
			return fmt.Errorf("the pod is %s for the reason %q, want Failed at its deadline", pod.Status.Phase, pod.Status.Reason)
		}
		return nil
	})
}

func TestReadinessGatesOfOthersDecideAndAreLeftAlone(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	const gate = "example.com/Gate"
	pod := g.create("web=shop/web:v1", func(pod *corev1.Pod) {
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	})
	closed := g.until(pod.Name, runs("web", "shop/web:v1"))
	if isReady(closed) == nil {
		t.Error("the pod is ready although its gate is not open")
	}
	g.patch(pod.Name, `{"status":{"conditions":[{"type":"example.com/Gate","status":"True","reason":"Mine"}]}}`, "status")
	open := g.until(pod.Name, isReady)
	for _, condition := range open.Status.Conditions {
		if condition.Type == gate && condition.Reason != "Mine" {
			t.Errorf("the gate's condition became %+v", condition)
		}
	}
	g.patch(pod.Name, `{"status":{"conditions":[{"type":"example.com/Gate","status":"False"}]}}`, "status")
	g.until(pod.Name, func(pod *corev1.Pod) error {
		if isReady(pod) == nil {
			return fmt.Errorf("the pod is ready although its gate was closed")
		}
		return nil
	})
}
