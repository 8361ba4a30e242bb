package cluster

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"situ.gitops/planner/kruise"
)

// place is what one cache covers: a resource in one namespace, or a
// cluster-scoped resource.
type place struct {
	resource  schema.GroupVersionResource
	namespace string
}

var (
	podResource  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodeResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	daemonSets   = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
	replicaSets  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	revisions    = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	autoscalers  = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	claims       = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	classes      = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	budgets      = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}

	// workloads hold pods.
	workloads = []schema.GroupVersionResource{deployments, statefulSets, daemonSets, replicaSets, podResource}
	// besideWorkloads is what a workload's plan also depends on, in its namespace.
	besideWorkloads = []schema.GroupVersionResource{podResource, replicaSets, revisions, autoscalers, budgets}
	// whole resources are kept with all their fields.
	whole = []schema.GroupVersionResource{deployments, statefulSets, daemonSets, replicaSets, revisions, autoscalers, budgets, claims, classes}
)

// followed holds pods that another controller runs.
func followed(resource schema.GroupVersionResource) bool {
	return resource.Group == kruise.Group && slices.Contains([]string{"clonesets", "statefulsets", "daemonsets"}, resource.Resource)
}

// isWhole says whether a resource is kept with all its fields.
func isWhole(resource schema.GroupVersionResource) bool {
	return slices.Contains(whole, resource) || followed(resource) || resource.Group == kruise.Group && resource.Resource == "sidecarsets"
}

// caches are the watches of one client. Each is started when first needed, and
// runs until the client ends or its resource is no longer served.
type caches struct {
	start   func(*watched)
	running sync.WaitGroup
	mu      sync.Mutex
	open    map[place]*watched
	from    sources
	manager string // of fields: whose applies are ours
	observe func(event)
}

func newCaches(life context.Context, from sources, manager string, observe func(event)) *caches {
	c := &caches{open: map[place]*watched{}, from: from, manager: manager, observe: observe}
	life = klog.NewContext(life, logr.Discard()) // its faults are ours to tell, once
	c.start = func(w *watched) {
		ctx, stop := context.WithCancel(life)
		w.stop = stop
		c.running.Go(func() { w.informer.RunWithContext(ctx) })
	}
	return c
}

// wait returns when every cache has ended.
func (c *caches) wait() { c.running.Wait() }

// ensure starts the caches of the places that have none, and waits until each
// holds what the server has. Places that the server has no longer are given back.
func (c *caches) ensure(ctx context.Context, places []place) (gone []place, err error) {
	var waiting []*watched
	c.mu.Lock()
	for _, at := range places {
		w := c.open[at]
		if w == nil {
			w = newWatched(at, c.from, c.manager, c.observe)
			c.open[at] = w
			c.start(w)
		}
		waiting = append(waiting, w)
	}
	c.mu.Unlock()
	var faults []error
	for _, w := range waiting {
		err := w.await(ctx)
		if isFinal(err) { // the next snapshot begins anew, at once
			c.drop(w.place)
		}
		if errors.Is(err, errNotServed) {
			gone = append(gone, w.place)
			continue
		}
		faults = append(faults, err)
	}
	return gone, errors.Join(faults...)
}

// drop ends the cache of a resource that the server has no longer.
func (c *caches) drop(at place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.open[at]; w != nil {
		w.stop()
		delete(c.open, at)
	}
}

func (c *caches) at(at place) *watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[at]
}

// sortedPlaces puts places in an order that errors can rely on.
func sortedPlaces(places iter.Seq[place]) []place {
	return slices.SortedFunc(places, func(a, b place) int { return strings.Compare(a.String(), b.String()) })
}

// find gives the object of that name, or nil: there is none, or no cache for it.
func (c *caches) find(at place, name string) *sighting {
	w := c.at(at)
	if w == nil {
		return nil
	}
	key := name
	if at.namespace != "" {
		key = at.namespace + "/" + name
	}
	stored, ok, err := w.informer.GetIndexer().GetByKey(key)
	if err != nil || !ok {
		return nil
	}
	return stored.(*sighting)
}

// owned gives the objects of a place that have that controller.
func (c *caches) owned(at place, owner types.UID) []*sighting {
	return c.indexed(at, ownerIndex, string(owner))
}

// pulls gives the pods of a namespace that bring images to nodes.
func (c *caches) pulls(namespace string) []*sighting {
	return c.indexed(place{podResource, namespace}, pullIndex, pullIndex)
}

// strays gives the objects of a place that nobody looks after.
func (c *caches) strays(at place) []*sighting { return c.indexed(at, strayIndex, "") }

// all gives every object of a place.
func (c *caches) all(at place) []*sighting {
	w := c.at(at)
	if w == nil {
		return nil
	}
	return sightings(w.informer.GetIndexer().List())
}

func (c *caches) indexed(at place, index, key string) []*sighting {
	w := c.at(at)
	if w == nil {
		return nil
	}
	stored, err := w.informer.GetIndexer().ByIndex(index, key)
	if err != nil {
		return nil // impossible: every cache has all indexes
	}
	return sightings(stored)
}

func sightings(stored []any) []*sighting {
	found := make([]*sighting, 0, len(stored))
	for _, object := range stored {
		found = append(found, object.(*sighting))
	}
	return found
}
