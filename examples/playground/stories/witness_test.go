package stories

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// runs knows an image that is pinned by its digest by that: runtimes call it by
// its tag. And they call an image of several names by any of them: in the
// playground's registry, repositories that differ in their path alone hold the same.
func runs(status *corev1.ContainerStatus, image string) bool {
	_, digest, pinned := strings.Cut(image, "@")
	return path.Base(status.Image) == path.Base(image) || pinned && strings.HasSuffix(status.ImageID, "@"+digest)
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
