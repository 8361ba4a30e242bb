package cluster

import (
	"fmt"
	"io"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func (o Options) withDefaults() Options {
	if o.FieldManager == "" {
		o.FieldManager = "situ"
	}
	if o.UserAgent == "" {
		o.UserAgent = o.FieldManager
	}
	if o.Workers <= 0 {
		o.Workers = 16
	}
	if o.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		o.Log = silent
	}
	return o
}

// restConfig finds the cluster, and the namespace for manifests without one.
func (o Options) restConfig() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", o.configError(err)
	}
	namespace := o.Namespace
	if namespace == "" {
		if namespace, _, err = loader.Namespace(); err != nil {
			return nil, "", o.configError(err)
		}
	}
	config.UserAgent = o.UserAgent
	config.WarningHandler = rest.NoWarnings{}
	// The server's own priority and fairness is the limit; Workers bounds what is under way.
	config.QPS = -1
	return config, namespace, nil
}

// configError names the file and context that were asked for, and the way out.
func (o Options) configError(cause error) error {
	if clientcmd.IsEmptyConfig(cause) && o.Kubeconfig == "" {
		return fmt.Errorf("no cluster: neither KUBECONFIG nor ~/.kube/config names one and this is not a pod; give --kubeconfig FILE")
	}
	file := o.Kubeconfig
	if file == "" {
		file = "from KUBECONFIG or ~/.kube/config"
	}
	if o.Context == "" {
		return fmt.Errorf("kubeconfig %s: %w", file, cause)
	}
	return fmt.Errorf("kubeconfig %s, context %q: %w; list them with \"kubectl config get-contexts\"", file, o.Context, cause)
}
