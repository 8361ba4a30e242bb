package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"situ.gitops/planner"
)

// judge sees every event of the namespace's pods and every plan, and writes down
// what must not have been.
//
// Of what goes wrong by itself it must know beforehand: while pods may be
// unavailable through no fault of situ's, it is excused.
type judge struct {
	mu       sync.Mutex
	wish     wish
	ledger   *ledger
	owns     func(path string) error // says why an object may not be deleted
	pods     map[types.UID]*podCase
	taken    map[types.UID]bool // somebody else took them down
	planned  map[types.UID]bool // a plan said recreate
	upset    bool               // pods may be unavailable through others
	leaving  bool               // pods may leave through others
	blind    bool               // there are no plans to see
	renewing bool               // of a blind judge: since all was calm, a commit may have needed new pods
	named    map[types.UID]bool // a plan knew them
	flags    []flagged          // what only a new pod can have, of each commit that plans were made for
	seen     []string           // commits that plans of this life were made for
	accused  []string
}

// podCase is what the judge knows of one pod.
type podCase struct {
	pod     *corev1.Pod
	gone    bool
	born    int                       // how many commits plans had been made for
	changes map[string]int            // container -> times that its image was changed, or its cpu if that restarts it
	crashes map[string]int            // container -> times that it was restarted after a crash
	by      map[string]map[string]int // commit -> container -> times that it changed its image
}

func newJudge(ledger *ledger, w wish, blind bool) *judge {
	return &judge{wish: w, ledger: ledger, blind: blind, upset: true, leaving: true,
		pods: map[types.UID]*podCase{}, taken: map[types.UID]bool{}, planned: map[types.UID]bool{}, named: map[types.UID]bool{}}
}

// accuse writes down what must not have been.
func (j *judge) accuse(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.accuseLocked(format, args...)
}

func (j *judge) accuseLocked(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	j.ledger.tell("WRONG: %s", text)
	if !slices.Contains(j.accused, text) {
		j.accused = append(j.accused, text)
	}
}

func (j *judge) accusations() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.accused)
}

// change tells the judge what is about to happen.
func (j *judge) change(what func(*judge)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	what(j)
}

// calm ends every excuse, if all pods serve. It says whether they do.
func (j *judge) calm() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unavailable() > 0 || j.count() != j.wish.desired() {
		return false
	}
	j.upset, j.leaving, j.renewing = false, false, false
	return true
}

// takenUp are the commits that the present life has planned for.
func (j *judge) takenUp() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Compact(slices.Clone(j.seen))
}

// event takes one event of a pod in.
func (j *judge) event(event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok || pod.Labels["app"] != "web" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	known := j.pods[pod.UID]
	if known == nil {
		known = &podCase{pod: pod, born: len(j.flags), changes: map[string]int{}, crashes: map[string]int{}, by: map[string]map[string]int{}}
		j.pods[pod.UID] = known
	}
	j.images(known, pod)
	j.restarts(known, pod)
	j.leaves(known, pod, event.Type)
	known.pod, known.gone = pod, event.Type == watch.Deleted
	if u := j.unavailable(); u > j.wish.budget() && !j.upset {
		j.accuseLocked("promise 2: %d pods are unavailable, and the budget is %d", u, j.wish.budget())
		j.ledger.tell("%s", j.pictureLocked())
	}
}

// images counts changes of images: one commit makes one per container, and
// another one back if it fails and is to be taken back. It cannot be seen which
// commit has resized a container.
func (j *judge) images(known *podCase, pod *corev1.Pod) {
	var mark planner.Mark
	_ = json.Unmarshal([]byte(pod.Annotations[planner.AnnotationState]), &mark) // none: not updated in place
	for i, container := range pod.Spec.Containers {
		if j.wish.manner.restart && !container.Resources.Requests.Cpu().Equal(*known.pod.Spec.Containers[i].Resources.Requests.Cpu()) {
			known.changes[container.Name]++
		}
		if container.Image == known.pod.Spec.Containers[i].Image {
			continue
		}
		known.changes[container.Name]++
		if known.by[mark.Commit] == nil {
			known.by[mark.Commit] = map[string]int{}
		}
		known.by[mark.Commit][container.Name]++
		if n := known.by[mark.Commit][container.Name]; n > j.allowed(known.pod) {
			j.accuseLocked("promise 1: commit %.8s restarts container %s of pod %s for the %d. time", mark.Commit, container.Name, pod.Name, n)
		}
	}
}

// allowed is how often the images of a pod may have changed by one commit.
func (j *judge) allowed(before *corev1.Pod) int {
	failed := slices.ContainsFunc(before.Spec.Containers, func(c corev1.Container) bool { return !startable(c.Image) })
	if failed && j.wish.manner.revert {
		return 2
	}
	return 1
}

// restarts compares restarts with the changes of images that asked for them. A
// container that has crashed restarts by itself.
func (j *judge) restarts(known *podCase, pod *corev1.Pod) {
	for _, status := range pod.Status.ContainerStatuses {
		before := 0
		if was := statusOf(known.pod, status.Name); was != nil {
			before = int(was.RestartCount)
		}
		if ended := status.LastTerminationState.Terminated; ended != nil && ended.ExitCode != 0 {
			known.crashes[status.Name] += int(status.RestartCount) - before
		}
		if free := known.changes[status.Name] + known.crashes[status.Name]; int(status.RestartCount) > free {
			j.accuseLocked("promise 1: container %s of pod %s restarted %d times, but its image changed %d times and it crashed %d times",
				status.Name, pod.Name, status.RestartCount, known.changes[status.Name], known.crashes[status.Name])
		}
	}
}

// leaves wants a reason for the end of a pod.
func (j *judge) leaves(known *podCase, pod *corev1.Pod, event watch.EventType) {
	ends := pod.DeletionTimestamp != nil || event == watch.Deleted
	if !ends || known.gone || known.pod.DeletionTimestamp != nil {
		return
	}
	if j.leaving || j.taken[pod.UID] || j.planned[pod.UID] || j.blind && j.renewing || j.overlooked(known) {
		return
	}
	j.accuseLocked("promise 3: pod %s goes, and no plan said recreate", pod.Name)
}

// flagged is the env of app that a commit wants.
type flagged struct{ commit, flag string }

// overlooked: the pod was made while its controller rolled, no plan has known it
// yet, and it needs a new one for a commit of its time as those did that plans
// knew. A pod that could be patched is never excused.
func (j *judge) overlooked(known *podCase) bool {
	return !j.named[known.pod.UID] && slices.ContainsFunc(j.flags[max(0, known.born-1):], func(f flagged) bool {
		return f.flag != flagOf(known.pod.Spec.Containers)
	})
}

func flagOf(containers []corev1.Container) string {
	for _, container := range containers {
		for _, env := range container.Env {
			if env.Name == "FLAG" {
				return env.Value
			}
		}
	}
	return ""
}

// unavailable counts pods that should serve and do not.
func (j *judge) unavailable() int {
	serving := 0
	for _, known := range j.pods {
		if !known.gone && serves(known.pod) {
			serving++
		}
	}
	return max(0, j.wish.desired()-serving)
}

// count counts pods that are there.
func (j *judge) count() int {
	n := 0
	for _, known := range j.pods {
		if !known.gone {
			n++
		}
	}
	return n
}

// picture is what the pods look like now.
func (j *judge) picture() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pictureLocked()
}

func (j *judge) pictureLocked() string {
	var lines string
	for _, known := range j.pods {
		if !known.gone {
			lines += "\n     " + describe(known.pod)
		}
	}
	return lines
}

func describe(pod *corev1.Pod) string {
	line := fmt.Sprintf("%s serves: %t, leaves: %t", pod.Name, serves(pod), pod.DeletionTimestamp != nil)
	for _, status := range pod.Status.ContainerStatuses {
		line += fmt.Sprintf(", %s: %s, ready: %t, %d restarts", status.Name, status.Image, status.Ready, status.RestartCount)
	}
	return line
}

// serves is stricter than readiness: a pod that was given another image stops
// serving then, not when its kubelet says so.
func serves(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, container := range pod.Spec.Containers {
		status := statusOf(pod, container.Name)
		if status == nil || status.Image != container.Image {
			return false
		}
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
