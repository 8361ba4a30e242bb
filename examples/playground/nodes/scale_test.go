package nodes_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// It is not parallel: the others would have to wait for 500 pods.
func TestFiveHundredPodsAreUpdatedInPlaceOnceEach(t *testing.T) {
	const replicas = 500
	g := newGround(t)
	store, changed := g.watch()
	began := time.Now()
	g.deploy(replicas, "shop/web:v1")
	before := g.allRun(store, changed, replicas, "shop/web:v1")
	t.Logf("%d pods running after %s", replicas, time.Since(began).Round(10*time.Millisecond))

	began = time.Now()
	g.setImages(before, "shop/web:v2")
	patched := time.Now()
	after := g.allRun(store, changed, replicas, "shop/web:v2")
	t.Logf("%d pods patched in %s, the last running %s later", replicas, patched.Sub(began).Round(10*time.Millisecond), time.Since(patched).Round(10*time.Millisecond))

	addresses := map[string]bool{}
	for name, pod := range after {
		addresses[pod.Status.PodIP] = true
		if pod.UID != before[name].UID || pod.Status.PodIP != before[name].Status.PodIP {
			t.Errorf("pod %s became another", name)
		}
		if web := statusOf(pod, "web"); web.RestartCount != 1 {
			t.Errorf("pod %s restarted %d times, want once", name, web.RestartCount)
		}
	}
	if len(addresses) != replicas {
		t.Errorf("%d pods have %d addresses", replicas, len(addresses))
	}
}

func (g ground) deploy(replicas int32, image string) {
	g.Helper()
	labels := map[string]string{"app": "web"}
	_, err := shared.Client().AppsV1().Deployments(g.namespace).Create(g.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}, {Name: "log", Image: "shop/log:v1"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		g.Fatal(err)
	}
}

// watch keeps the namespace's pods at hand and tells of every change: asking
// for 500 pods again and again would slow down what is being waited for.
func (g ground) watch() (pods cache.Store, changed <-chan struct{}) {
	g.Helper()
	bell := make(chan struct{}, 1)
	ring := func(any) {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
	source := cache.NewListWatchFromClient(shared.Client().CoreV1().RESTClient(), "pods", g.namespace, fields.Everything())
	informer := cache.NewSharedInformer(source, &corev1.Pod{}, 0)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: ring, UpdateFunc: func(_, pod any) { ring(pod) }})
	if err != nil {
		g.Fatal(err)
	}
	go informer.RunWithContext(g.Context())
	return informer.GetStore(), bell
}

// allRun waits until so many pods run the image, and returns them by name.
func (g ground) allRun(store cache.Store, changed <-chan struct{}, replicas int, image string) map[string]*corev1.Pod {
	g.Helper()
	timeout := time.After(time.Minute)
	for {
		pods := map[string]*corev1.Pod{}
		for _, object := range store.List() {
			if pod := object.(*corev1.Pod); runs("web", image)(pod) == nil {
				pods[pod.Name] = pod
			}
		}
		if len(pods) == replicas {
			return pods
		}
		select {
		case <-changed:
		case <-timeout:
			g.Fatalf("after a minute %d of %d pods run %s", len(pods), replicas, image)
		}
	}
}

func (g ground) setImages(pods map[string]*corev1.Pod, image string) {
	g.Helper()
	names := make(chan string, len(pods))
	for name := range pods {
		names <- name
	}
	close(names)
	patch := fmt.Appendf(nil, `{"spec":{"containers":[{"name":"web","image":%q}]}}`, image)
	var writers sync.WaitGroup
	for range 16 {
		writers.Go(func() {
			for name := range names {
				_, err := shared.Client().CoreV1().Pods(g.namespace).Patch(g.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
				if err != nil {
					g.Error(err)
				}
			}
		})
	}
	writers.Wait()
}
