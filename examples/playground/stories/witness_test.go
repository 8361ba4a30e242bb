package stories

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"situ.gitops/planner"
)

// witness writes down every event of a namespace's pods, in their order, so
// that a story can ask what was true at every instant.
type witness struct {
	client    kubernetes.Interface
	namespace string
	watcher   *watchtools.RetryWatcher
	writing   sync.WaitGroup

	mu     sync.Mutex
	events []watch.Event
	times  []time.Time // when each came
}

// newWitness begins with a namespace without pods.
func newWitness(ctx context.Context, client kubernetes.Interface, namespace string) (*witness, error) {
	w := &witness{client: client, namespace: namespace}
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	source := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return client.CoreV1().Pods(namespace).Watch(ctx, options)
	}}
	w.watcher, err = watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, source)
	if err != nil {
		return nil, err
	}
	w.writing.Go(w.write)
	return w, nil
}

func (w *witness) write() {
	for event := range w.watcher.ResultChan() {
		if _, ok := event.Object.(*corev1.Pod); ok {
			w.mu.Lock()
			w.events, w.times = append(w.events, event), append(w.times, time.Now())
			w.mu.Unlock()
		}
	}
}

func (w *witness) close() {
	w.watcher.Stop()
	w.writing.Wait()
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.events)
}

// catchUp waits until everything that is true now has been written down.
func (w *witness) catchUp(ctx context.Context) error {
	list, err := w.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return eventually(ctx, "the witness to see every pod", func() (bool, error) {
		seen := map[types.UID]int{}
		for _, event := range w.testimony() {
			pod := event.Object.(*corev1.Pod)
			seen[pod.UID] = version(pod)
		}
		for i := range list.Items {
			if seen[list.Items[i].UID] < version(&list.Items[i]) {
				return false, nil
			}
		}
		return true, nil
	})
}

func (w *witness) testimony() []watch.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.events)
}

// moments are when the events of the testimony came.
func (w *witness) moments() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.times)
}

func version(pod *corev1.Pod) int {
	n, _ := strconv.Atoi(pod.ResourceVersion) // a number in every API server there is
	return n
}

// watched wants bounds to hold for the worst instant since pods were remembered.
//
//	unavailable   remembered pods, or their replacements, that could not serve
//	pods          pods at the same time, but for those being deleted
//	created       pods that were not among the remembered
//	surplus       restarts of a container beyond the changes of its image
func watched(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "watched SELECTOR unavailable|pods|created|surplus [<]=NUMBER..."
	expect(ts, !neg && len(args) >= 2, usage)
	s := of(ts)
	ts.Check(s.witness.catchUp(s.ctx))
	selector, err := labels.Parse(args[0])
	ts.Check(err)
	memory, ok := s.memories[args[0]]
	expect(ts, ok, "remember NUMBER SELECTOR, before: watched SELECTOR")
	worst := s.witness.worst(selector, memory)
	for _, arg := range args[1:] {
		what, b, ok := parseBound(arg)
		was, known := worst[what]
		expect(ts, ok && known, usage)
		if !b.holds(was.n) {
			ts.Logf("what happened:\n%s", s.witness.diary(selector, memory))
			ts.Fatalf("%s was %d, want %s; that was when\n%s", what, was.n, b, was.text)
		}
	}
}

// diary is everything that was seen of the pods, one line for each event that
// shows anything new.
func (w *witness) diary(selector labels.Selector, since memory) string {
	var lines []string
	told := map[types.UID]string{}
	for i, event := range w.testimony() {
		pod := event.Object.(*corev1.Pod)
		line := portrait(pod)
		if i >= since.mark && selector.Matches(labels.Set(pod.Labels)) && told[pod.UID] != line {
			lines = append(lines, line)
			told[pod.UID] = line
		}
	}
	return strings.Join(lines, "\n")
}

// extreme is the highest a number was, and what the pods looked like then.
type extreme struct {
	n    int
	text string
}

// worst tells the story's events again, and looks at the pods after each.
func (w *witness) worst(selector labels.Selector, since memory) map[string]extreme {
	worst := map[string]extreme{"unavailable": {}, "pods": {}, "created": {}, "surplus": {}}
	pods, created := map[types.UID]*corev1.Pod{}, map[types.UID]bool{}
	given := givenImages{}
	for i, event := range w.testimony() {
		pod := event.Object.(*corev1.Pod)
		if !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		given.note(pod)
		pods[pod.UID] = pod
		if event.Type == watch.Deleted {
			delete(pods, pod.UID)
		}
		if i < since.mark {
			continue
		}
		if since.pods[pod.UID] == nil {
			created[pod.UID] = true
		}
		now := map[string]int{"unavailable": len(since.pods) - serving(pods), "pods": living(pods), "created": len(created), "surplus": given.surplus(pod)}
		for what, n := range now {
			if n > worst[what].n {
				worst[what] = extreme{n, picture(pods)}
			}
		}
	}
	return worst
}

// givenImages are the images that the containers of pods were given, in turn.
type givenImages map[types.UID]map[string][]string

func (g givenImages) note(pod *corev1.Pod) {
	if g[pod.UID] == nil {
		g[pod.UID] = map[string][]string{}
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		images := g[pod.UID][container.Name]
		if len(images) == 0 || images[len(images)-1] != container.Image {
			g[pod.UID][container.Name] = append(images, container.Image)
		}
	}
}

// surplus is how many restarts of a container no change of its image explains.
func (g givenImages) surplus(pod *corev1.Pod) int {
	most := 0
	for container, restarts := range restartsOf(pod) {
		most = max(most, restarts-(len(g[pod.UID][container])-1))
	}
	return most
}

func living(pods map[types.UID]*corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func serving(pods map[types.UID]*corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if serves(pod) {
			n++
		}
	}
	return n
}

// serves is stricter than readiness: a pod that was given another image stops
// serving then, not when its kubelet says so.
func serves(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, container := range pod.Spec.Containers {
		if status := statusOf(pod, container.Name); status == nil || !runs(status, container.Image) {
			return false
		}
	}
	return ready(pod)
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// runs knows an image that is pinned by its digest by that: runtimes call it by its tag.
func runs(status *corev1.ContainerStatus, image string) bool {
	_, digest, pinned := strings.Cut(image, "@")
	return status.Image == image || pinned && strings.HasSuffix(status.ImageID, "@"+digest)
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// picture shows the pods of an instant.
func picture(pods map[types.UID]*corev1.Pod) string {
	var lines []string
	for _, pod := range pods {
		lines = append(lines, portrait(pod))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// portrait shows a pod: each container's image, and the wanted one where the
// kubelet has not followed yet.
func portrait(pod *corev1.Pod) string {
	text := fmt.Sprintf("  %s ready: %t, deleted: %t, kubelet has seen spec %d of %d", pod.Name, ready(pod), pod.DeletionTimestamp != nil,
		pod.Status.ObservedGeneration, pod.Generation)
	for _, container := range pod.Spec.Containers {
		status := statusOf(pod, container.Name)
		if status == nil {
			text += fmt.Sprintf(", %s wants %s", container.Name, container.Image)
			continue
		}
		text += fmt.Sprintf(", %s: %s, %d restarts", container.Name, status.Image, status.RestartCount)
		if status.Image != container.Image {
			text += ", wants " + container.Image
		}
	}
	return text + " " + pod.Annotations[planner.AnnotationState]
}
