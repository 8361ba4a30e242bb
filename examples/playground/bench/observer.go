package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// patience bounds every wait: it is for a machine that is far too slow.
const patience = 15 * time.Minute

// observer watches the pods of a namespace and knows what they run. It sees the
// raw patches and situ's with the same eyes.
type observer struct {
	stop func()

	mu      sync.Mutex
	running map[types.UID]string // the image that a ready pod runs
	uids    map[types.UID]string // the pod's name
	waiting *wanted
}

// wanted is what somebody waits for.
type wanted struct {
	pods  int
	image string
	at    chan time.Time
}

func observe(ctx context.Context, client kubernetes.Interface, namespace string) (*observer, error) {
	own, stop := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	o := &observer{running: map[types.UID]string{}, uids: map[types.UID]string{}}
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { o.see(pod.(*corev1.Pod)) },
		UpdateFunc: func(_, pod any) { o.see(pod.(*corev1.Pod)) },
		DeleteFunc: o.miss,
	}); err != nil {
		stop()
		return nil, err
	}
	factory.Start(own.Done())
	o.stop = func() {
		stop()
		factory.Shutdown()
	}
	if !cache.WaitForCacheSync(own.Done(), informer.HasSynced) {
		o.stop()
		return nil, fmt.Errorf("list the pods of %s: %w", namespace, context.Cause(ctx))
	}
	return o, nil
}

func (o *observer) see(pod *corev1.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.uids[pod.UID] = pod.Name
	o.running[pod.UID] = runs(pod)
	o.check()
}

func (o *observer) miss(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.running, pod.UID)
	delete(o.uids, pod.UID)
	o.check()
}

// runs is the image that the container app of a ready pod runs.
func runs(pod *corev1.Pod) string {
	ready := false
	for _, condition := range pod.Status.Conditions {
		ready = ready || condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == "app" && status.State.Running != nil && ready {
			return status.Image
		}
	}
	return ""
}

// check tells whoever waits once it is so. The lock is held.
func (o *observer) check() {
	if o.waiting == nil {
		return
	}
	n := 0
	for _, image := range o.running {
		if image == o.waiting.image {
			n++
		}
	}
	if n >= o.waiting.pods {
		o.waiting.at <- time.Now()
		o.waiting = nil
	}
}

// expect begins to wait until that many pods run an image and are ready; the
// channel gives the moment.
func (o *observer) expect(pods int, image string) <-chan time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := make(chan time.Time, 1)
	o.waiting = &wanted{pods: pods, image: image, at: at}
	o.check()
	return at
}

// await waits for what was expected.
func (o *observer) await(ctx context.Context, at <-chan time.Time) (time.Time, error) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case moment := <-at:
		return moment, nil
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	case <-timeout.C:
		return time.Time{}, fmt.Errorf("not all pods run and are ready within %s", patience)
	}
}

// pods are the names and UIDs of all pods now.
func (o *observer) pods() map[types.UID]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	pods := map[types.UID]string{}
	for uid, name := range o.uids {
		pods[uid] = name
	}
	return pods
}

// runners are the pods that run an image and are ready.
func (o *observer) runners(image string) []types.UID {
	o.mu.Lock()
	defer o.mu.Unlock()
	var runners []types.UID
	for uid, running := range o.running {
		if running == image {
			runners = append(runners, uid)
		}
	}
	return runners
}
