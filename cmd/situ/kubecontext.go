package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// currentContext is the name of the kubeconfig's current context, "" if there
// is none. As in kubectl, the first of KUBECONFIG's files that names one wins.
// Only the name is read here; speaking to the cluster is applier/cluster's.
func currentContext(kubeconfig string) (string, error) {
	for _, file := range kubeconfigFiles(kubeconfig) {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) && kubeconfig == "" {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("kubeconfig: %w", err)
		}
		var config struct {
			CurrentContext string `json:"current-context"`
		}
		if err := yaml.Unmarshal(content, &config); err != nil {
			return "", fmt.Errorf("kubeconfig %s is not YAML; make a new one, or give another with --kubeconfig", file)
		}
		if config.CurrentContext != "" {
			return config.CurrentContext, nil
		}
	}
	return "", nil
}

func kubeconfigFiles(kubeconfig string) []string {
	if kubeconfig != "" {
		return []string{kubeconfig}
	}
	if list := os.Getenv("KUBECONFIG"); list != "" {
		return filepath.SplitList(list)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(home, ".kube", "config")}
}
