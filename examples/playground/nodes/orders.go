package nodes

import (
	"sync"
	"time"
)

// Delay is how long containers take.
type Delay struct {
	Start time.Duration // until it runs
	Ready time.Duration // from then until it is ready
	End   time.Duration // to end when their pod is deleted
}

// orders are what the caller of the simulator wants to happen.
type orders struct {
	mu      sync.Mutex
	general Delay
	delays  map[string]Delay
	fates   map[string]Fate
	resize  Resize
}

func newOrders() orders {
	return orders{delays: map[string]Delay{}, fates: map[string]Fate{}}
}

func (o *orders) fate(image string) (Fate, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fate, ok := o.fates[image]
	return fate, ok
}

func (o *orders) delay(image string) Delay {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.delays[image]
	return Delay{
		Start: max(o.general.Start, own.Start),
		Ready: max(o.general.Ready, own.Ready),
		End:   max(o.general.End, own.End),
	}
}

func (o *orders) resizes() Resize {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.resize
}

// SetDelay makes every container that starts from now on take this long.
func (s *Simulator) SetDelay(delay Delay) {
	s.order(func(o *orders) { o.general = delay })
}

// SetImageDelay makes containers of one image take this long.
func (s *Simulator) SetImageDelay(image string, delay Delay) {
	s.order(func(o *orders) { o.delays[image] = delay })
}

// SetImageFate decides what becomes of containers with this image, from their
// next start on and whatever its tag says. With Runs, an image that could not
// be pulled turns up.
func (s *Simulator) SetImageFate(image string, fate Fate) {
	s.order(func(o *orders) { o.fates[image] = fate })
}

// SetResize decides what becomes of resizes, also of those that wait.
func (s *Simulator) SetResize(outcome Resize) {
	s.order(func(o *orders) { o.resize = outcome })
}

// order changes the orders and looks at every pod again.
func (s *Simulator) order(change func(*orders)) {
	o := &s.kubelet.orders
	o.mu.Lock()
	change(o)
	o.mu.Unlock()
	s.enqueueAll()
}
