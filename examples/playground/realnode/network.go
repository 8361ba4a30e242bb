package realnode

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// network is the bridge all pods of the node hang on. The host has the gateway's
// address, so it reaches every pod, and the kubelet listens there and nowhere
// else. Nothing is routed or translated: pods reach the host and each other, no
// firewall rule is made and no setting of the kernel changes.
type network struct {
	bridge  string
	subnet  netip.Prefix
	gateway netip.Addr
}

// chooseNetwork takes a subnet that no interface of this machine has a part in.
func chooseNetwork(bridge string) (network, error) {
	used, err := usedSubnets()
	if err != nil {
		return network{}, err
	}
	for range 100 {
		// Away from 10.96.0.0/12 (services) and 10.244.0.0/16 (pods of other clusters).
		base := netip.AddrFrom4([4]byte{10, byte(180 + rand.IntN(40)), byte(rand.IntN(256)), 0})
		subnet := netip.PrefixFrom(base, 24)
		if !overlaps(subnet, used) {
			return network{bridge: bridge, subnet: subnet, gateway: base.Next()}, nil
		}
	}
	return network{}, errors.New("no free subnet found in 10.180.0.0 to 10.219.255.0")
}

func usedSubnets() ([]netip.Prefix, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the machine's addresses: %w", err)
	}
	var used []netip.Prefix
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			used = append(used, prefix.Masked())
		}
	}
	return used, nil
}

func overlaps(subnet netip.Prefix, used []netip.Prefix) bool {
	for _, other := range used {
		if subnet.Overlaps(other) {
			return true
		}
	}
	return false
}

// up makes the bridge. The kubelet needs its address before the first pod.
func (n network) up(ctx context.Context) error {
	return errors.Join(
		ip(ctx, "link", "add", n.bridge, "type", "bridge"),
		ip(ctx, "address", "add", fmt.Sprintf("%s/%d", n.gateway, n.subnet.Bits()), "dev", n.bridge),
		ip(ctx, "link", "set", n.bridge, "up"),
	)
}

// removeBridge also removes the host's ends of the pods' networks: the kernel
// does so only some time after the last process of a killed pod. No bridge is no
// error.
func removeBridge(ctx context.Context, bridge string) error {
	if _, err := net.InterfaceByName(bridge); err != nil {
		return nil
	}
	ports, err := os.ReadDir(filepath.Join("/sys/class/net", bridge, "brif"))
	if err != nil {
		return fmt.Errorf("list the ports of %s: %w", bridge, err)
	}
	for _, port := range ports {
		err := ip(ctx, "link", "delete", port.Name())
		if _, missing := net.InterfaceByName(port.Name()); err != nil && missing == nil {
			return err // there, so it was not the kernel that came first
		}
	}
	return ip(ctx, "link", "delete", bridge)
}

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
