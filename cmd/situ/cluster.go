package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"situ.gitops/applier/cluster"
)

// clusterOptions say which cluster.
type clusterOptions struct {
	name                           string
	kubeconfig, context, namespace string
}

func (o *clusterOptions) register(cmd *cobra.Command) {
	o.registerName(cmd)
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "", "namespace for manifests that name none (default: the context's)")
}

// registerName is register for commands that only name the cluster.
func (o *clusterOptions) registerName(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.name, "cluster", "", "name of the cluster in notes (default: the kubeconfig context's name)")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, ~/.kube/config, or the pod's service account)")
	flags.StringVar(&o.context, "context", "", "context of the kubeconfig (default: its current one)")
}

// named is the cluster's name, under which its notes are kept.
func (o *clusterOptions) named() (string, error) {
	if o.name != "" {
		return o.name, nil
	}
	if o.context != "" {
		return o.context, nil
	}
	name, err := currentContext(o.kubeconfig)
	if err != nil {
		return "", err
	}
	if name == "" {
		return "", errors.New("the cluster has no name: no kubeconfig names a current context; give --cluster NAME, under which notes are kept")
	}
	return name, nil
}

// open makes the client. It does not ask the cluster yet.
func (o *clusterOptions) open(ctx context.Context, log logrus.FieldLogger) (*cluster.Client, error) {
	client, err := cluster.New(ctx, cluster.Options{Kubeconfig: o.kubeconfig, Context: o.context, Namespace: o.namespace, Log: log,
		UserAgent: "situ/" + version()})
	if err != nil {
		return nil, fmt.Errorf("open cluster: %w", err)
	}
	return client, nil
}
