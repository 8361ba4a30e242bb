package cluster

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// writesPatience is how long a snapshot waits without any progress for the
// caches to take in our own writes.
const writesPatience = 2 * time.Second

// writes remembers what we wrote until the caches have seen it, so that no plan
// is made from a state older than our own last word.
type writes struct {
	mu       sync.Mutex
	pending  map[types.UID]write
	progress chan struct{} // closed and replaced whenever a write was seen
}

// write is seen with this version or a later one, or with the object's end.
type write struct {
	version  string
	deletion bool // a deletion timestamp is enough
}

func newWrites() *writes {
	return &writes{pending: map[types.UID]write{}, progress: make(chan struct{})}
}

// expect remembers a write that the cache, asked under the lock, does not show yet.
func (w *writes) expect(uid types.UID, expected write, inCache func() *sighting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := inCache()
	if now != nil && now.GetUID() == uid && expected.seenIn(now.GetResourceVersion(), now.GetDeletionTimestamp() != nil) {
		return
	}
	if expected.deletion && (now == nil || now.GetUID() != uid) {
		return
	}
	w.pending[uid] = expected
}

func (w write) seenIn(version string, ending bool) bool {
	if w.deletion {
		return ending
	}
	order, err := resourceversion.CompareResourceVersion(version, w.version)
	return err != nil || order >= 0
}

// seen hears of every event of every cache.
func (w *writes) seen(event event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	expected, ok := w.pending[event.uid]
	if !ok || !event.deleted && !expected.seenIn(event.version, event.ending) {
		return
	}
	delete(w.pending, event.uid)
	close(w.progress)
	w.progress = make(chan struct{})
}

// wait returns when every write was seen, or false when nothing more comes.
func (w *writes) wait(ctx context.Context) (bool, error) {
	patience := time.NewTimer(writesPatience)
	defer patience.Stop()
	for {
		w.mu.Lock()
		left, progress := len(w.pending), w.progress
		w.mu.Unlock()
		if left == 0 {
			return true, nil
		}
		select {
		case <-progress:
			patience.Reset(writesPatience)
		case <-patience.C:
			w.mu.Lock()
			clear(w.pending)
			w.mu.Unlock()
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
