package planner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Mark is what a pod remembers of its last update in place, in AnnotationState.
// It is written in the same patch as the update, so neither can be lost alone.
type Mark struct {
	Version  int                 `json:"v"`
	Commit   string              `json:"commit"`
	Revision string              `json:"revision"`
	From     string              `json:"from,omitempty"`    // the revision label that it had before
	At       time.Time           `json:"at"`                // when the patch was decided
	Restart  map[string]string   `json:"restart,omitempty"` // container -> the containerID that must go away
	Was      map[string]string   `json:"was,omitempty"`     // container -> the image that it ran before
	Passed   map[string][]string `json:"passed,omitempty"`  // container -> the images that it was given after that one, before its present one
	Partial  bool                `json:"partial,omitempty"` // more containers follow, then the revision label
	Touched  []string            `json:"touched,omitempty"` // by the batches so far: "containers/web", "annotations/config"
	Alias    map[string]string   `json:"alias,omitempty"`   // image that a container has for a restart -> the one that Git names
	Owns     []string            `json:"owns,omitempty"`    // a bare pod only: labels and annotations that Git has set
	Unready  bool                `json:"unready,omitempty"` // of a SidecarSet only: the pod was not ready before
}

func markOf(pod *corev1.Pod) Mark {
	var mark Mark
	if pod.Annotations[AnnotationState] == "" {
		return mark
	}
	if err := json.Unmarshal([]byte(pod.Annotations[AnnotationState]), &mark); err != nil {
		return Mark{} // nobody's or spoilt: nothing to prove
	}
	return mark
}

// progress is how far a live pod is, by its own word.
type progress struct {
	available bool
	broken    bool      // by the kubelet's word it will not come up as it is
	text      string    // what it waits for, or why it is broken
	wake      time.Time // when it becomes available if nothing happens
}

// brokenReasons are the kubelet's words for a container that does not start by
// itself (pkg/kubelet/images and kuberuntime, Kubernetes 1.37). ErrImagePull is
// left out: it is the first try, and ImagePullBackOff follows if it stays.
var brokenReasons = []string{
	"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
	"CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

// progressOf asks: does every restarted container run anew, and is the pod
// ready for as long as it must be? What SidecarSets have restarted counts, too.
//
// A pod that is not available for longer than the deadline is broken as well:
// since it became unready, or since it was last touched if that is later.
func progressOf(pod *corev1.Pod, mark Mark, now time.Time, minReady, deadline time.Duration) progress {
	marks := append(sidecarMarks(pod), mark)
	if text := brokenContainer(pod, marks); text != "" {
		return progress{broken: true, text: text}
	}
	since, ready := readySince(pod)
	text := ""
	if !ready {
		text = notReady(pod)
	}
	if status, _ := gateOf(pod); hasGate(pod) && status == corev1.ConditionFalse {
		text = "traffic is kept away while it is updated"
	}
	var sure, last time.Time
	for _, m := range marks {
		if name := unproven(pod, m, now); name != "" {
			sure = sureFrom(pod, m, name)
			text = fmt.Sprintf("container %s has not restarted yet", name)
		}
		last = latest(last, m.At)
	}
	if text == "" {
		if wait := latest(since, restartedAt(pod, marks)).Add(minReady); minReady > 0 && now.Before(wait) {
			return progress{text: fmt.Sprintf("ready, but not for %s yet", minReady), wake: wait}
		}
		return progress{available: true}
	}
	limit := latest(since, last, pod.CreationTimestamp.Time).Add(deadline)
	if now.Before(limit) {
		if now.Before(sure) && sure.Before(limit) {
			limit = sure
		}
		return progress{text: text, wake: limit}
	}
	return progress{broken: true, text: fmt.Sprintf("%s, for longer than %s", text, deadline)}
}

// restartedAt is when the last of the containers that updates restarted came
// up. A pod that was unready for too short a moment to be seen so is not ready
// since before that.
func restartedAt(pod *corev1.Pod, marks []Mark) time.Time {
	var last time.Time
	for _, mark := range marks {
		for name := range mark.Restart {
			if status := containerStatus(pod, name); status != nil && status.State.Running != nil {
				last = latest(last, status.State.Running.StartedAt.Time)
			}
		}
	}
	return last
}

// unproven is a container that still must go away, "" if there is none.
func unproven(pod *corev1.Pod, mark Mark, now time.Time) string {
	for _, name := range union(mark.Restart, nil) {
		if !proven(pod, mark, name, now) {
			return name
		}
	}
	return ""
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// proven holds once a new container runs in place of the recorded one, on the
// image that the pod's spec names. The image's id proves nothing: two tags may
// share it. A runtime may also call a shared image by its other name, so the
// kubelet's word that it has seen this spec counts as much as the name. But it
// says so before it acts: what then runs may still be the container of a patch
// in between, which is about to be stopped. One whose image was given in between
// proves nothing until it has run for longer than it could if that were so.
//
// The right image is no proof while the kubelet has not seen the spec, if the
// container was given it before and another one in between: it still stops the
// container for that one. Old kubelets do not tell what they have seen; they are
// taken at the name.
//
// The recorded container itself is right if the spec names its image again, after
// a revert that the kubelet got before it had acted: by its word, nothing is to do.
func proven(pod *corev1.Pod, mark Mark, container string, now time.Time) bool {
	status := containerStatus(pod, container)
	if status == nil || status.State.Running == nil {
		return false
	}
	seen := pod.Generation > 0 && pod.Status.ObservedGeneration >= pod.Generation
	switch {
	case status.ContainerID == mark.Restart[container]:
		return seen && mark.Was[container] != "" && mark.Was[container] == liveImage(pod, container)
	case sameName(status.Image, liveImage(pod, container)):
		return seen || pod.Status.ObservedGeneration == 0 || !mark.passed(container, status.Image)
	case mark.passed(container, status.Image):
		return seen && now.After(sureFrom(pod, mark, container))
	}
	return seen
}

// stopSlack is how long a kubelet may take to stop a container, beside its
// grace: 11 seconds were seen on a loaded machine. Only a pod waits for it that
// was given two names of one image in a row.
const stopSlack = 2 * time.Minute

// sureFrom is when a container that runs an image given in between would have
// been stopped if it were to be; zero for any other.
func sureFrom(pod *corev1.Pod, mark Mark, container string) time.Time {
	status := containerStatus(pod, container)
	if status == nil || status.State.Running == nil || !mark.passed(container, status.Image) {
		return time.Time{}
	}
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	return latest(mark.At, status.State.Running.StartedAt.Time).Add(time.Duration(grace)*time.Second + stopSlack)
}

// passed: an image that the container was given after it had last been proven,
// and that another one has replaced since.
func (m Mark) passed(container, image string) bool {
	return slices.ContainsFunc(m.Passed[container], func(one string) bool { return sameName(one, image) })
}

// pass adds the present image of a container that gets another one before it is
// proven to those that an earlier mark knows.
func (m *Mark) pass(container string, earlier Mark, c podCase) {
	passed := earlier.Passed[container]
	if image := liveImage(c.pod, container); slices.Contains(c.patched, container) && !slices.Contains(passed, image) {
		passed = append(slices.Clone(passed), image)
	}
	if len(passed) == 0 {
		return
	}
	if m.Passed == nil {
		m.Passed = map[string][]string{}
	}
	m.Passed[container] = passed
}

func brokenContainer(pod *corev1.Pod, marks []Mark) string {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			waiting := list[i].State.Waiting
			if waiting == nil || !slices.Contains(brokenReasons, waiting.Reason) || ofImageBefore(pod, &list[i], marks) {
				continue
			}
			if waiting.Reason == "CrashLoopBackOff" && (stoppedByUpdate(&list[i], marks...) || stoppedByResize(pod, &list[i])) {
				continue
			}
			return clip(fmt.Sprintf("container %s: %s: %s", list[i].Name, waiting.Reason, waiting.Message))
		}
	}
	return ""
}

// ofImageBefore: an update has just given the container another image, and the
// kubelet still tells what became of the one before. It has not seen the pod's
// spec, or has not tried the new image yet and names the other.
func ofImageBefore(pod *corev1.Pod, status *corev1.ContainerStatus, marks []Mark) bool {
	return slices.ContainsFunc(marks, func(mark Mark) bool {
		if _, restarts := mark.Restart[status.Name]; !restarts {
			return false
		}
		if pod.Status.ObservedGeneration > 0 && pod.Status.ObservedGeneration < pod.Generation {
			return true
		}
		names := func(image string) bool { return strings.Contains(status.State.Waiting.Message, strconv.Quote(image)) }
		return !names(liveImage(pod, status.Name)) && (names(mark.Was[status.Name]) || slices.ContainsFunc(mark.Passed[status.Name], names))
	})
}

// stoppedByUpdate: the kubelet also backs off before it starts a container anew
// that an update has stopped. That is no crash: what ended is the old container.
func stoppedByUpdate(status *corev1.ContainerStatus, marks ...Mark) bool {
	ended := status.LastTerminationState.Terminated
	return slices.ContainsFunc(marks, func(mark Mark) bool {
		before, restarts := mark.Restart[status.Name]
		return restarts && ended != nil && (ended.ContainerID == before || !ended.StartedAt.After(mark.At))
	})
}

// stoppedByResize: no mark tells of a resize that restarts a container. One that
// can, and that ended as the kubelet makes a container end, is given the benefit
// of the doubt; a real crash loop is told once the deadline is over.
func stoppedByResize(pod *corev1.Pod, status *corev1.ContainerStatus) bool {
	live, ended := liveContainer(pod, status.Name), status.LastTerminationState.Terminated
	if live == nil || ended == nil || ended.Reason == "OOMKilled" || !slices.Contains(exitsWhenStopped, ended.ExitCode) {
		return false
	}
	return slices.ContainsFunc(live.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		return policy.RestartPolicy == corev1.RestartContainer
	})
}

// exitsWhenStopped: in its own time, by SIGKILL, by SIGTERM.
var exitsWhenStopped = []int32{0, 128 + 9, 128 + 15}

func readySince(pod *corev1.Pod) (time.Time, bool) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

func notReady(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return clip("not scheduled: " + c.Message)
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.State.Waiting != nil {
			return fmt.Sprintf("container %s: %s", status.Name, status.State.Waiting.Reason)
		}
		if !status.Ready {
			return fmt.Sprintf("container %s is not ready", status.Name)
		}
	}
	return "not ready"
}

// clip bounds text that comes from outside. Where it begins says what was being
// done, where it ends why that failed.
func clip(text string) string {
	const head, tail = 120, 200
	if len(text) <= head+tail {
		return text
	}
	return strings.ToValidUTF8(text[:head]+"..."+text[len(text)-tail:], "")
}

// active are the pods that count: neither ended nor on their way out.
func active(pods []*corev1.Pod) []*corev1.Pod {
	var some []*corev1.Pod
	for _, pod := range pods {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !ended && pod.DeletionTimestamp == nil {
			some = append(some, pod)
		}
	}
	return some
}

// LastUpdate is what a pod remembers of the last time that situ touched it, and
// false if it never did.
func LastUpdate(pod *corev1.Pod) (Mark, bool) {
	mark := markOf(pod)
	return mark, mark.Version > 0
}

// RevisionOf is the label of the template that a pod was made from or last
// brought to, "" if its workload has none.
func RevisionOf(pod *corev1.Pod) string { return labelOf(pod) }
