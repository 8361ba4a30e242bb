package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"situ.gitops/planner"
)

// event is one change that a cache has taken in.
type event struct {
	place     place
	name      string
	uid       types.UID
	owner     types.UID
	version   string
	deleted   bool // gone
	ending    bool // has a deletion timestamp
	initial   bool // was there when the watch began: nothing changed
	recovered bool // no object: the watch works again
}

func handlerFor(at place, observe func(event)) cache.ResourceEventHandler {
	tell := func(object *sighting, seen event) {
		seen.place, seen.name = at, object.GetName()
		seen.uid, seen.owner = object.GetUID(), keeperOf(object)
		seen.version, seen.ending = object.GetResourceVersion(), object.GetDeletionTimestamp() != nil
		observe(seen)
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			tell(object.(*sighting), event{initial: isInInitialList})
		},
		UpdateFunc: func(old, object any) {
			before, after := old.(*sighting), object.(*sighting)
			if before.GetUID() != after.GetUID() {
				tell(before, event{deleted: true})
			}
			if before.GetResourceVersion() != after.GetResourceVersion() {
				tell(after, event{})
			}
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if last, ok := object.(*sighting); ok {
				tell(last, event{deleted: true})
			}
		},
	}
}

// keeperOf is whose plan an object matters to: its controller's, or that of the
// workload that a pod brings an image for.
func keeperOf(object *sighting) types.UID {
	if object.pod != nil {
		if workload := planner.PulledFor(object.pod); workload != "" {
			return workload
		}
	}
	return ownerOf(object)
}

// named is an object of a commit as events name it.
type named struct {
	place place
	name  string
}

// changes turns events into one merged signal, if the last snapshot shows what changed.
type changes struct {
	signal chan struct{}

	mu      sync.Mutex
	names   map[named]bool
	owners  map[types.UID]bool // controllers that were shown
	places  map[place]bool     // where everything counts
	taking  bool               // a snapshot is under way: what it will show is not known yet
	pending []event
	timer   *time.Timer
	stopped bool
}

func newChanges() *changes { return &changes{signal: make(chan struct{}, 1)} }

// begin keeps events until end says what the snapshot shows.
func (c *changes) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taking = true
}

// end tells what is of interest from now on; of the events since begin, too.
func (c *changes) end(names map[named]bool, owners map[types.UID]bool, places map[place]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names, c.owners, c.places = names, owners, places
	c.abandonLocked()
}

// abandon ends a snapshot that failed; the former one stays of interest.
func (c *changes) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandonLocked()
}

func (c *changes) abandonLocked() {
	for _, event := range c.pending {
		c.noteLocked(event)
	}
	c.taking, c.pending = false, nil
}

func (c *changes) note(event event) {
	if event.initial {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taking {
		c.pending = append(c.pending, event)
		return
	}
	c.noteLocked(event)
}

func (c *changes) noteLocked(event event) {
	if event.recovered || c.names[named{event.place, event.name}] || c.owners[event.owner] || c.places[event.place] {
		c.ring()
	}
}

// ring never blocks: a signal that waits already says the same.
func (c *changes) ring() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// ringAt gives a signal at that time, for what comes without an event.
func (c *changes) ringAt(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if !at.IsZero() && !c.stopped {
		c.timer = time.AfterFunc(time.Until(at), c.ring)
	}
}

func (c *changes) stop() {
	c.ringAt(time.Time{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
}
