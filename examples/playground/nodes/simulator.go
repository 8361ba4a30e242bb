// Package nodes simulates nodes: Node objects that look healthy, and for the
// pods bound to them everything a kubelet would report. No container runs.
//
// A pod's next status follows from its spec and its last status alone, so a
// simulator that is started again goes on where the one before it stopped.
// Pods on nodes that this package did not register are never touched.
//
//	watch        one for all pods that are bound
//	next         the status a kubelet would report now (pure)
//	patch        if it differs, guarded by the pod's UID
//	look again   when time alone will change it: a delay, a back-off
//
// # Failures on demand
//
// By the tag of an image ("missing" and "crash", or beginning with "missing-"
// and "crash-"), by an annotation of the pod (see the Annotation constants), or
// by the methods of Simulator.
package nodes

import (
	"context"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Label marks a simulated node; its value is "simulated".
const Label = "playground.situ.gitops/node"

// writers is how many pods are worked on at once.
const writers = 32

// Options say which nodes to simulate.
type Options struct {
	// Count is how many nodes there are: sim-0, sim-1 and so on.
	Count int
	// Prefix replaces "sim-" in their names.
	Prefix string
	// Cordoned nodes get only the pods that name them.
	Cordoned bool
	// Taints are on the nodes from the beginning.
	Taints []corev1.Taint
	// Log is told of reports that the API server refused; nil: nobody.
	Log io.Writer
}

// Simulator plays the kubelet of its nodes until Stop.
type Simulator struct {
	client   kubernetes.Interface
	version  string // of the API server, which the nodes take for theirs
	names    []string
	log      *log.Logger
	informer cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]
	kubelet  kubelet
	address  addresses
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	written map[types.UID]*corev1.Pod // what the last patch of a pod returned
	alive   map[string]bool           // every node; false for one that is stopped
}

// Start registers the nodes and returns when they report themselves ready and
// the pods bound to them are known. The context bounds the start only.
func Start(ctx context.Context, config *rest.Config, options Options) (*Simulator, error) {
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its version: %w", err)
	}
	s := &Simulator{
		client:  client,
		version: version.GitVersion,
		names:   options.names(),
		log:     options.logger(),
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](20*time.Millisecond, 5*time.Second)),
		kubelet: newKubelet(),
		written: map[types.UID]*corev1.Pod{},
		alive:   map[string]bool{},
	}
	if err := s.watchPods(); err != nil {
		return nil, err
	}
	for _, name := range s.names {
		s.alive[name] = true
		if err := s.register(ctx, name, corev1.NodeSpec{Unschedulable: options.Cordoned, Taints: options.Taints}); err != nil {
			return nil, err
		}
	}
	if err := s.run(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (o Options) names() []string {
	prefix := o.Prefix
	if prefix == "" {
		prefix = "sim-"
	}
	names := make([]string, o.Count)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return names
}

func (o Options) logger() *log.Logger {
	if o.Log == nil {
		return log.New(io.Discard, "", 0)
	}
	return log.New(o.Log, "", log.LstdFlags)
}

// newClient makes a client of the simulator's own: a kubelet per node would not
// share one node's limit of requests per second.
func newClient(config *rest.Config) (*kubernetes.Clientset, error) {
	own := rest.CopyConfig(config)
	own.QPS = -1
	own.UserAgent = "situ-playground-nodes"
	own.ContentType = "application/vnd.kubernetes.protobuf"
	own.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("make a client for the simulated nodes: %w", err)
	}
	return client, nil
}

func (s *Simulator) watchPods() error {
	bound := fields.OneTermNotEqualSelector("spec.nodeName", "")
	watch := cache.NewListWatchFromClient(s.client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, bound)
	s.informer = cache.NewSharedIndexInformer(watch, &corev1.Pod{}, 0, cache.Indexers{})
	_, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    s.enqueue,
		UpdateFunc: func(_, pod any) { s.enqueue(pod) },
		DeleteFunc: s.forget,
	})
	return err
}

// run starts what the simulator does by itself and waits for the first list of
// pods.
func (s *Simulator) run(ctx context.Context) error {
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.running.Go(func() { s.informer.RunWithContext(own) })
	s.running.Go(func() { s.beat(own) })
	if err := s.watchNodes(own); err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), s.informer.HasSynced) {
		return fmt.Errorf("list the pods of the simulated nodes: %w", context.Cause(ctx))
	}
	for range writers {
		s.running.Go(func() {
			for s.work(own) {
			}
		})
	}
	return nil
}

// Stop ends the simulation and waits for it. The nodes stay registered and, as
// far as Kubernetes knows, are lost.
func (s *Simulator) Stop() {
	s.queue.ShutDown()
	s.stop()
	s.running.Wait()
}

// Names are the names of the nodes.
func (s *Simulator) Names() []string { return append([]string(nil), s.names...) }

// StopNode makes a node fall silent: it reports nothing, starts nothing and
// ends nothing until StartNode.
func (s *Simulator) StopNode(name string) {
	s.setAlive(name, false)
}

// StartNode brings a stopped node back.
func (s *Simulator) StartNode(ctx context.Context, name string) error {
	s.setAlive(name, true)
	if err := s.revive(ctx, name); err != nil {
		return err
	}
	s.enqueueAll()
	return nil
}

// plays tells whether this simulator speaks for a node at the moment.
func (s *Simulator) plays(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alive[node]
}

func (s *Simulator) setAlive(node string, alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive[node] = alive
}
