package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"situ.gitops/examples/playground/binaries"
	"situ.gitops/examples/playground/nodes"
)

// Existing is a cluster that runs already, taken from a kubeconfig, or from
// several that $KUBECONFIG lists. It gets n simulated nodes beside those it
// has; none for 0.
func Existing(ctx context.Context, kubeconfig string, n int) (*Cluster, error) {
	c := &Cluster{}
	if err := c.connect(kubeconfig); err != nil {
		return nil, err
	}
	if err := c.client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error(); err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", c.URL(), err)
	}
	if err := c.addNodes(ctx, n); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Config is the administrator's access, without a limit on requests per second.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Client is a client with the access of Config.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// URL is where the API server listens.
func (c *Cluster) URL() string { return c.config.Host }

// Dir is the folder everything of this cluster is in.
func (c *Cluster) Dir() string { return c.dir }

// Programs is the folder with kubelet and the other programs.
func (c *Cluster) Programs() binaries.Folder { return c.programs }

// Nodes are the simulated nodes, nil if there are none.
func (c *Cluster) Nodes() *nodes.Simulator { return c.nodes }

// AuthorityFile is the certificate of the authority that signed the API server
// and every user. A kubelet that trusts it for its clients (clientCAFile) lets
// the API server in, which is what kubectl logs and exec need.
func (c *Cluster) AuthorityFile() string { return c.path("pki/ca.crt") }

// AddUser makes a user who is in these groups, and returns the path of his
// kubeconfig. A user has the rights that RBAC gives to his name and groups:
// none at first. A kubelet is "system:node:<name>" in "system:nodes".
func (c *Cluster) AddUser(name string, groups ...string) (kubeconfig string, err error) {
	if c.authority == nil {
		return "", fmt.Errorf("add the user %q: only a cluster of the playground can", name)
	}
	pair, err := c.authority.sign(clientCertificate(name, groups))
	if err != nil {
		return "", fmt.Errorf("add the user %q: %w", name, err)
	}
	path := c.path(filepath.Join("users", fileName(name)))
	config := kubeconfigOf(c.ports.url(c.ports.apiserver), c.authority.certificate, name, pair)
	if err := clientcmd.WriteToFile(config, path); err != nil {
		return "", fmt.Errorf("add the user %q: %w", name, err)
	}
	return path, nil
}

func kubeconfigOf(url string, authority []byte, user string, pair keyPair) clientcmdapi.Config {
	const name = "playground"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: authority}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.certificate, ClientKeyData: pair.key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user, Namespace: "default"}
	config.CurrentContext = name
	return *config
}

// connect makes the client from a kubeconfig. The client has no limit of its
// own: the playground also measures what the API server can do.
func (c *Cluster) connect(kubeconfig string) error {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(kubeconfig)}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return fmt.Errorf("read the kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	config.UserAgent = "situ-playground"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	c.kubeconfig, c.config, c.client = kubeconfig, config, client
	return nil
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }
