package cluster_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStartServesARealKubernetes(t *testing.T) {
	version, err := shared.Client().Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != "v1.37.2" {
		t.Errorf("version = %q, want v1.37.2", version.GitVersion)
	}
	nodes, err := shared.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 3 {
		t.Errorf("there are %d nodes, want 3", len(nodes.Items))
	}
}
