package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// faultPatience is how long a watch may fail before what it shows is not trusted.
const faultPatience = 5 * time.Second

// sources are the ways to read a resource: typed, whole, or its metadata.
type sources struct {
	dynamic  dynamic.Interface
	metadata metadata.Interface
	core     corev1client.CoreV1Interface
}

// watched is one cache, kept up to date by one watch.
type watched struct {
	place    place
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration
	observe  func(event)
	stop     context.CancelFunc

	mu      sync.Mutex
	fault   error // of the last try, nil once a watch is open
	since   time.Time
	changed chan struct{} // closed and replaced whenever fault changes
}

func newWatched(at place, from sources, manager string, observe func(event)) *watched {
	w := &watched{place: at, observe: observe, changed: make(chan struct{})}
	lister, example, client := from.lister(at)
	reporting := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := lister.ListWithContextFunc(ctx, options)
			if err != nil {
				w.report(ctx, err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := lister.WatchFuncWithContext(ctx, options)
			w.report(ctx, err)
			return events, err
		},
	}
	w.informer = cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(reporting, client), example,
		cache.SharedIndexInformerOptions{Indexers: cache.Indexers{ownerIndex: indexByOwner, pullIndex: indexByPull, strayIndex: indexByStray}})
	transform := newSighting(manager)
	if at.resource == namespaceResource {
		transform = keepingLabels(transform)
	}
	// Both fail only on an informer that runs already.
	_ = w.informer.SetTransform(transform)
	w.handler, _ = w.informer.AddEventHandler(handlerFor(at, observe))
	return w
}

// lister gives what lists and watches a place, and an example of what it lists.
func (s sources) lister(at place) (*cache.ListWatch, runtime.Object, any) {
	switch {
	case at.resource == podResource:
		pods := s.core.Pods(at.namespace)
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return pods.List(ctx, options)
			},
			WatchFuncWithContext: pods.Watch,
		}, &corev1.Pod{}, s.core
	case at.resource == nodeResource:
		nodes := s.core.Nodes()
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return nodes.List(ctx, options)
			},
			WatchFuncWithContext: nodes.Watch,
		}, &corev1.Node{}, s.core
	case isWhole(at.resource):
		objects := s.dynamic.Resource(at.resource).Namespace(at.namespace)
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return objects.List(ctx, options)
			},
			WatchFuncWithContext: objects.Watch,
		}, &unstructured.Unstructured{}, s.dynamic
	}
	resource, selector := narrowed(at.resource)
	objects := s.metadata.Resource(resource).Namespace(at.namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return objects.Watch(ctx, options)
		},
	}, &metav1.PartialObjectMetadata{}, s.metadata
}

// report notes how the last try went. An expired version is part of the protocol.
func (w *watched) report(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault == nil && err == nil {
		return
	}
	if w.fault == nil {
		w.since = time.Now()
	}
	if err == nil {
		w.observe(event{place: w.place, recovered: true})
	}
	w.fault = err
	close(w.changed)
	w.changed = make(chan struct{})
}

// await returns when the cache holds what the server has, or when it cannot.
func (w *watched) await(ctx context.Context) error {
	for {
		w.mu.Lock()
		fault, since, changed := w.fault, w.since, w.changed
		w.mu.Unlock()
		if fault != nil && (isFinal(fault) || time.Since(since) > faultPatience) {
			return w.explain(fault)
		}
		if w.handler.HasSynced() {
			return nil
		}
		select {
		case <-w.handler.HasSyncedChecker().Done():
		case <-changed:
		case <-ctx.Done():
			if fault == nil {
				fault = ctx.Err()
			}
			return w.explain(fault)
		}
	}
}

// isFinal says that trying again will not help before somebody acts.
func isFinal(err error) bool {
	return errors.Is(err, errNotServed) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// errNotServed is the cause when the server has a resource no longer.
var errNotServed = errors.New("the server does not have it")

func (w *watched) explain(cause error) error {
	switch {
	case apierrors.IsNotFound(cause):
		return fmt.Errorf("list and watch %s: %w", w.place, errNotServed)
	case apierrors.IsForbidden(cause):
		return fmt.Errorf("list and watch %s: %w; grant the verbs get, list and watch on %s", w.place, cause, w.place.resource.GroupResource())
	case errors.Is(cause, context.DeadlineExceeded):
		return fmt.Errorf("list and watch %s: no answer in time: %w", w.place, cause)
	}
	return fmt.Errorf("list and watch %s: %w", w.place, withoutURL(cause))
}

func (p place) String() string {
	if p.namespace == "" {
		return p.resource.GroupResource().String()
	}
	return p.resource.GroupResource().String() + " in " + p.namespace
}
