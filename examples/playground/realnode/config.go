package realnode

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"situ.gitops/examples/playground/registry"
)

// templates are the settings of the node's programs, one file each.
//
//go:embed config/*
var templates embed.FS

// settings are what the templates can say.
type settings struct {
	Dir, Socket, Cgroup, CNIPlugins   string
	Bridge, Subnet, Gateway           string
	RegistryHost, RegistryName, Pause string
	ClientCA                          string
}

// configure writes every settings file to its place in the site.
func (n *Node) configure() error {
	s := settings{
		Dir: n.site.dir, Socket: n.site.socket(), Cgroup: n.site.cgroup(), CNIPlugins: cniPlugins,
		Bridge: n.network.bridge, Subnet: n.network.subnet.String(), Gateway: n.network.gateway.String(),
		RegistryHost: n.options.Registry, RegistryName: registry.Name, Pause: registry.Pause,
		ClientCA: n.options.ClientCA,
	}
	for _, file := range []struct{ template, path string }{
		{"containerd.toml", "containerd.toml"},
		{"hosts.toml", filepath.Join("registries", registry.Name, "hosts.toml")},
		{"bridge.conflist", "cni/bridge.conflist"},
		{"kubelet.yaml", "kubelet.yaml"},
	} {
		if err := render(file.template, n.site.path(file.path), s); err != nil {
			return fmt.Errorf("write %s: %w", file.path, err)
		}
	}
	return nil
}

func render(name, path string, s settings) error {
	parsed, err := template.ParseFS(templates, "config/"+name)
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := parsed.Execute(&content, s); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return err
	}
	return os.WriteFile(path, content.Bytes(), 0o600)
}
