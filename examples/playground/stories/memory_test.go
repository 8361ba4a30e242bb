package stories

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// memory is what pods were like at a moment of the story.
type memory struct {
	pods map[types.UID]*corev1.Pod
	mark int // how many events the witness had written down
}

// pods are the live ones of a selector.
func (s *story) pods(selector string) ([]*corev1.Pod, error) {
	list, err := s.client().CoreV1().Pods(s.namespace).List(s.ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods, nil
}

// remember keeps what a selector's pods are like now.
func remember(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 2, "remember NUMBER SELECTOR")
	s := of(ts)
	pods, err := s.pods(args[1])
	ts.Check(err)
	if strconv.Itoa(len(pods)) != args[0] {
		ts.Fatalf("there are %d pods with %s, want %s", len(pods), args[1], args[0])
	}
	ts.Check(s.remember(args[1], pods))
}

func (s *story) remember(selector string, pods []*corev1.Pod) error {
	if err := s.witness.catchUp(s.ctx); err != nil {
		return err
	}
	m := memory{pods: map[types.UID]*corev1.Pod{}, mark: s.witness.count()}
	for _, pod := range pods {
		m.pods[pod.UID] = pod
	}
	s.memories[selector] = m
	return nil
}

// kept wants every remembered pod to be there still, with its UID, address and
// node, and each container to have been restarted as often as it says: never, if
// it is not named.
func kept(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "kept SELECTOR [CONTAINER=RESTARTS | CONTAINER<=RESTARTS]..."
	expect(ts, !neg && len(args) >= 1, usage)
	restarts := map[string]bound{}
	for _, arg := range args[1:] {
		container, b, ok := parseBound(arg)
		expect(ts, ok, usage)
		restarts[container] = b
	}
	if wrong := of(ts).notKept(args[0], restarts); len(wrong) > 0 {
		ts.Fatalf("%s", strings.Join(wrong, "\n"))
	}
}

// bound is what a number has to be.
type bound struct {
	n    int
	most bool // or less
}

func (b bound) holds(n int) bool { return n == b.n || b.most && n < b.n }

func (b bound) String() string {
	if b.most {
		return fmt.Sprintf("at most %d", b.n)
	}
	return strconv.Itoa(b.n)
}

// parseBound reads name=1 and name<=1.
func parseBound(text string) (name string, b bound, ok bool) {
	name, number, ok := strings.Cut(text, "=")
	if name, b.most = strings.CutSuffix(name, "<"); !ok {
		return name, b, false
	}
	n, err := strconv.Atoi(number)
	b.n = n
	return name, b, err == nil
}

// notKept says everything that is not as it was.
func (s *story) notKept(selector string, restarts map[string]bound) []string {
	memory, ok := s.memories[selector]
	if !ok {
		return []string{"nothing is remembered of " + selector}
	}
	pods, err := s.pods(selector)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	for uid, before := range memory.pods {
		i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == uid })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("pod %s (%s) is gone", before.Name, uid))
			continue
		}
		wrong = append(wrong, differences(before, pods[i], restarts)...)
	}
	slices.Sort(wrong)
	return wrong
}

func differences(before, now *corev1.Pod, restarts map[string]bound) []string {
	var wrong []string
	if now.Status.PodIP != before.Status.PodIP || now.Spec.NodeName != before.Spec.NodeName {
		wrong = append(wrong, fmt.Sprintf("pod %s is at %s on %s, was at %s on %s", now.Name,
			now.Status.PodIP, now.Spec.NodeName, before.Status.PodIP, before.Spec.NodeName))
	}
	was, is := restartsOf(before), restartsOf(now)
	for container := range restarts {
		if _, ok := is[container]; !ok {
			wrong = append(wrong, fmt.Sprintf("pod %s has no container %s", now.Name, container))
		}
	}
	for container, n := range is {
		if !restarts[container].holds(n - was[container]) {
			wrong = append(wrong, fmt.Sprintf("container %s of pod %s was restarted %d times, want %s", container, now.Name, n-was[container], restarts[container]))
		}
	}
	return wrong
}

func restartsOf(pod *corev1.Pod) map[string]int {
	restarts := map[string]int{}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		restarts[status.Name] = int(status.RestartCount)
	}
	return restarts
}

// replaced wants none of the remembered pods to be there, and as many new ones.
func replaced(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 1, "replaced SELECTOR")
	s := of(ts)
	memory, ok := s.memories[args[0]]
	expect(ts, ok, "remember NUMBER SELECTOR, before: replaced SELECTOR")
	pods, err := s.pods(args[0])
	ts.Check(err)
	for _, pod := range pods {
		if memory.pods[pod.UID] != nil {
			ts.Fatalf("pod %s (%s) is there still, want it replaced", pod.Name, pod.UID)
		}
	}
	if len(pods) != len(memory.pods) {
		ts.Fatalf("there are %d pods with %s, were %d", len(pods), args[0], len(memory.pods))
	}
}

func hasImage(pod *corev1.Pod, image string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Image == image })
}
