package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// ports are where the processes listen, all on loopback.
type ports struct {
	etcd, peer, apiserver, scheduler, controllers int
}

func (p ports) url(port int) string { return fmt.Sprintf("https://127.0.0.1:%d", port) }

// freePorts picks ports below those the kernel gives to outgoing connections:
// one that is free now is then still free when its process starts, unless
// another playground picks the same in this second.
func freePorts() (ports, error) {
	const first, last = 20000, 32000
	var free []int
	for range 1000 {
		port := first + rand.IntN(last-first)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer listener.Close() // held until all are found, so that none is found twice
		free = append(free, port)
		if len(free) == 5 {
			return ports{etcd: free[0], peer: free[1], apiserver: free[2], scheduler: free[3], controllers: free[4]}, nil
		}
	}
	return ports{}, errors.New("find free ports on 127.0.0.1: none between 20000 and 32000")
}
