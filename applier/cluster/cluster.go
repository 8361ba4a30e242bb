// Package cluster is the only door to Kubernetes: it keeps the watch caches,
// takes snapshots for the planner and carries out single actions.
//
// It decides nothing. What a manifest means to the cluster is asked of the API
// server itself, by a dry run, and what must not be done is for the planner to say.
//
//	Resolve   which kinds are served, and which of them live in a namespace
//	Snapshot  start the watches that the commit needs, and wait for them
//	          wait until the caches have seen our own writes
//	          prove each manifest that changed, or whose object changed
//	          gather what exists, what it owns, and the pods
//	Do        one write, guarded by the UID that it was decided on
//
// A cache keeps pods and workloads whole but for what nobody reads, and of every
// other kind the metadata only. Values of Secrets never leave this package: in a
// snapshot a keyed digest stands for each of them.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// ErrChanged says that an object is no longer the one that an action was decided on.
var ErrChanged = errors.New("changed since it was planned")

// requestTimeout bounds every request but watches.
const requestTimeout = 30 * time.Second

// Options say which cluster and how to speak to it.
type Options struct {
	Kubeconfig   string // file; "": KUBECONFIG, ~/.kube/config, or the pod's own service account
	Context      string // "": the kubeconfig's current context
	Namespace    string // for manifests without one; "": the context's
	FieldManager string // "": situ
	UserAgent    string // "": the field manager
	Workers      int    // requests at once; 0: 16
	Log          logrus.FieldLogger
}

// Client is one cluster. Its methods may be called from several goroutines.
type Client struct {
	namespace string
	manager   string
	workers   int
	log       logrus.FieldLogger

	dynamic  dynamic.Interface
	metadata metadata.Interface
	kinds    *kinds
	counter  *counter
	caches   *caches
	proofs   *proofs
	writes   *writes
	refusals *refusals
	changes  *changes

	snapshotting sync.Mutex // one snapshot at a time
	nodesAgain   time.Time  // nodes may not be listed: not to be tried before
	claimsAgain  time.Time  // as nodesAgain, for claims and storage classes
	stop         context.CancelFunc
}

// New reads the kubeconfig. It sends no request yet. The watches that snapshots
// start end with ctx or with Close.
func New(ctx context.Context, options Options) (*Client, error) {
	options = options.withDefaults()
	config, namespace, err := options.restConfig()
	if err != nil {
		return nil, err
	}
	counter := &counter{}
	config.Wrap(counter.wrap)
	c := &Client{
		namespace: namespace,
		manager:   options.FieldManager,
		workers:   options.Workers,
		log:       options.Log,
		counter:   counter,
		proofs:    newProofs(),
		writes:    newWrites(),
		refusals:  newRefusals(),
		changes:   newChanges(),
	}
	if err := c.connect(ctx, config); err != nil {
		return nil, fmt.Errorf("client for %s: %w", config.Host, err)
	}
	return c, nil
}

// connect builds the clients on one shared HTTP client, so that they share its connection.
func (c *Client) connect(ctx context.Context, config *rest.Config) error {
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	asked, err := discovery.NewDiscoveryClientForConfigAndClient(config, shared)
	if err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, shared); err != nil {
		return err
	}
	if c.metadata, err = metadata.NewForConfigAndClient(config, shared); err != nil {
		return err
	}
	binary := rest.CopyConfig(config)
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	core, err := corev1client.NewForConfigAndClient(binary, shared)
	if err != nil {
		return err
	}
	life, stop := context.WithCancel(ctx)
	c.stop = stop
	c.kinds = newKinds(asked.RESTClient())
	c.caches = newCaches(life, sources{dynamic: c.dynamic, metadata: c.metadata, core: core}, c.manager, c.observe)
	return nil
}

// DefaultNamespace is the one that manifests without a namespace go to.
func (c *Client) DefaultNamespace() string { return c.namespace }

// Changes gives a signal when something that the last snapshot showed has
// changed since. Signals that nobody has taken yet are merged into one.
func (c *Client) Changes() <-chan struct{} { return c.changes.signal }

// Requests counts what was sent to the API server so far.
func (c *Client) Requests() Counts { return c.counter.counts() }

// Close ends all watches and waits for them.
func (c *Client) Close() {
	c.stop()
	c.changes.stop()
	c.caches.wait()
}

// observe hears of every change in every cache.
func (c *Client) observe(event event) {
	c.writes.seen(event)
	c.changes.note(event)
}
