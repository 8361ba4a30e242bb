package nodes

import (
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// addresses gives every pod one of its own, and a pod that was given one before
// keeps it. The zero value is ready.
type addresses struct {
	mu    sync.Mutex
	last  netip.Addr
	owner map[netip.Addr]types.UID
	given map[types.UID]netip.Addr
}

// of returns the pod's address. Reported is the one in its status, if any.
func (a *addresses) of(pod types.UID, reported string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owner == nil {
		a.owner, a.given = map[netip.Addr]types.UID{}, map[types.UID]netip.Addr{}
		a.last = netip.AddrFrom4([4]byte{10, 64, 0, 0})
	}
	if address, ok := a.given[pod]; ok {
		return address.String()
	}
	address, err := netip.ParseAddr(reported)
	if err != nil {
		address = a.next()
	}
	a.owner[address], a.given[pod] = pod, address
	return address.String()
}

// next is an address that nobody has. There are a million of them, more than
// the simulator could hold pods.
func (a *addresses) next() netip.Addr {
	for {
		a.last = a.last.Next()
		if a.last.As4()[1] >= 80 {
			a.last = netip.AddrFrom4([4]byte{10, 64, 0, 1})
		}
		if _, taken := a.owner[a.last]; !taken {
			return a.last
		}
	}
}

func (a *addresses) release(pod types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.owner, a.given[pod])
	delete(a.given, pod)
}
