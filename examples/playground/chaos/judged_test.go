package chaos

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"situ.gitops/planner"
)

// TestTheJudgeAccusesWhoeverBreaksAPromise shows the judge what must not be.
func TestTheJudgeAccusesWhoeverBreaksAPromise(t *testing.T) {
	for _, tt := range []struct {
		name   string
		happen func(j *judge)
		want   string // "": nothing is wrong
	}{
		{"nothing", func(*judge) {}, ""},
		{"one restart for one image", func(j *judge) {
			j.show(pod("web-0").running("v1", "c1", 0))
			j.show(pod("web-0").running("v1", "c1", 1))
		}, ""},
		{"two images by one commit", func(j *judge) {
			j.show(pod("web-0").running("v1", "c1", 0))
			j.show(pod("web-0").running("v1", "c1", 1))
			j.show(pod("web-0").running("v2", "c1", 1))
		}, "promise 1"},
		{"an image that a failed commit has taken back", func(j *judge) {
			j.wish.manner.revert = true
			j.show(pod("web-0").running("crash-1", "c1", 0))
			j.show(pod("web-0").running("v0", "c1", 1))
		}, ""},
		{"an image that a commit takes back though it has not failed", func(j *judge) {
			j.wish.manner.revert = true
			j.show(pod("web-0").running("v1", "c1", 0))
			j.show(pod("web-0").running("v0", "c1", 1))
		}, "promise 1"},
		{"a restart that no image asked for", func(j *judge) { j.show(pod("web-0").running("v0", "c0", 1)) }, "promise 1"},
		{"a restart after a crash", func(j *judge) {
			crashed := pod("web-0").running("v0", "c0", 1)
			crashed.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
			j.show(crashed)
		}, ""},
		{"two pods away at once", func(j *judge) {
			j.show(pod("web-0").unready())
			j.show(pod("web-1").unready())
		}, "promise 2"},
		{"a pod that goes", func(j *judge) { j.event(watch.Event{Type: watch.Deleted, Object: pod("web-0").Pod}) }, "promise 3"},
		{"a pod that a plan wants anew", func(j *judge) {
			j.planned["web-0"] = true
			j.event(watch.Event{Type: watch.Deleted, Object: pod("web-0").Pod})
		}, ""},
		{"a pod that goes for what only a new one can have, before a plan has known it", func(j *judge) {
			j.flags = []flagged{{"c1", "f1"}, {"c2", "f2"}}
			j.event(watch.Event{Type: watch.Deleted, Object: pod("web-new").with("f1").Pod})
		}, ""},
		{"a new pod that goes though nothing needs another one", func(j *judge) {
			j.flags = []flagged{{"c1", "f0"}, {"c2", "f1"}}
			j.event(watch.Event{Type: watch.Deleted, Object: pod("web-new").with("f1").Pod})
		}, "promise 3"},
		{"a pod that a plan has known and kept", func(j *judge) {
			j.flags, j.named["web-new"] = []flagged{{"c1", "f1"}, {"c2", "f2"}}, true
			j.event(watch.Event{Type: watch.Deleted, Object: pod("web-new").with("f1").Pod})
		}, "promise 3"},
		{"a deletion of somebody else's", func(j *judge) {
			r, _ := http.NewRequest(http.MethodDelete, "/api/v1/namespaces/shop/secrets/mine", nil)
			j.write(r)
		}, "promise 6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJudge(&ledger{}, firstWish("StatefulSet", manner{}), false)
			j.owns = func(string) error { return errors.New("it is not situ's") }
			for i := range j.wish.replicas {
				j.show(pod(fmt.Sprintf("web-%d", i)).running("v0", "", 0))
			}
			if !j.calm() {
				t.Fatal("calm: the judge does not see that all pods serve")
			}
			tt.happen(j)
			got := strings.Join(j.accusations(), "; ")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("the judge says %q, want %q", got, tt.want)
			}
		})
	}
}

// seenPod is a pod as the judge may see it.
type seenPod struct{ *corev1.Pod }

func pod(name string) seenPod {
	p := &corev1.Pod{}
	p.Name, p.UID, p.Labels = name, types.UID(name), map[string]string{"app": "web"}
	return seenPod{p}.running("v0", "", 0)
}

// running runs one container with an image that a commit has given it.
func (p seenPod) running(image, commit string, restarts int32) seenPod {
	p.Annotations = map[string]string{planner.AnnotationState: fmt.Sprintf(`{"v":1,"commit":%q}`, commit)}
	p.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Image: image, RestartCount: restarts}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

// with has a value that only a new pod can have.
func (p seenPod) with(flag string) seenPod {
	p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "FLAG", Value: flag}}
	return p
}

func (p seenPod) unready() seenPod {
	p.Status.Conditions[0].Status = corev1.ConditionFalse
	return p
}

func (j *judge) show(p seenPod) { j.event(watch.Event{Type: watch.Modified, Object: p.Pod}) }
