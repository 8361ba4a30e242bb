package realnode

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What follows are the files that containerd, the network plugins and the kubelet
// put outside of the site because nothing can tell them another place.

// removeShimSockets removes the sockets of containers that were killed: a shim
// that ends in order removes its own.
func (s *site) removeShimSockets() error {
	files, err := filepath.Glob(s.path("state/io.containerd.runtime.v2.task/k8s.io/*/address"))
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		address, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		socket := strings.TrimPrefix(strings.TrimSpace(string(address)), "unix://")
		errs = append(errs, removeFile(socket))
	}
	return errors.Join(errs...)
}

// removeLogLinks removes the links to containers' logs. The kubelet makes them in
// a folder it cannot be told.
func (s *site) removeLogLinks() error {
	links, err := filepath.Glob("/var/log/containers/*.log")
	if err != nil {
		return err
	}
	var errs []error
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(target, s.dir+"/") {
			continue // another node's, or gone meanwhile
		}
		errs = append(errs, removeFile(link))
	}
	return errors.Join(errs...)
}

// cniResults is where the plugins remember what they gave to which pod. The
// runtime has no way to give them another place.
const cniResults = "/var/lib/cni/results"

// removeNetworkCache removes what is remembered of pods that were killed.
func removeNetworkCache(bridge string) error {
	files, err := filepath.Glob(filepath.Join(cniResults, bridge+"-*-eth0"))
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		pod := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), bridge+"-"), "-eth0")
		loopback := filepath.Join(cniResults, "cni-loopback-"+pod+"-lo")
		errs = append(errs, removeFile(loopback), removeFile(file))
	}
	return errors.Join(errs...)
}

// pluginSocket is where a kubelet waits for device plugins.
const pluginSocket = "/var/lib/kubelet/device-plugins/kubelet.sock"

// removePluginSocket leaves alone what another kubelet may be about to use: that
// of another site, the socket of one that runs, and a folder that is not empty.
func (s *site) removePluginSocket() error {
	others, err := filepath.Glob(filepath.Join(sites, "*", lockName))
	if err != nil || slices.ContainsFunc(others, func(lock string) bool { return lock != s.path(lockName) }) {
		return err
	}
	connection, err := net.Dial("unix", pluginSocket)
	if err == nil {
		return connection.Close()
	}
	if err := removeFile(pluginSocket); err != nil {
		return err
	}
	folder := filepath.Dir(pluginSocket)
	if os.Remove(folder) == nil {
		os.Remove(filepath.Dir(folder))
	}
	return nil
}

// removeFile takes what is gone already for removed.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
