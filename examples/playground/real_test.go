package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/realnode"
)

func TestUpWithARealNodeTellsHowToUseItAndStopsCleanly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, told := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		s := upSettings{settings: settings{place: place{dir: t.TempDir()}}, realNode: true}
		ended <- up(ctx, s, told, io.Discard)
		told.Close()
	}()

	var text, kubeconfig string
	for lines := bufio.NewScanner(out); kubeconfig == "" && lines.Scan(); {
		text += lines.Text() + "\n"
		_, kubeconfig, _ = strings.Cut(lines.Text(), "export KUBECONFIG=")
	}
	go io.Copy(io.Discard, out) // what follows is not to block up
	if kubeconfig == "" {
		t.Fatalf("up ended: %v; it told %q", <-ended, text)
	}
	for _, want := range []string{"nodeSelector: {playground.situ.gitops/node: real}", "registry.playground/app:v1"} {
		if !strings.Contains(text, want) {
			t.Errorf("up tells %q, want %q in it", text, want)
		}
	}

	c, err := cluster.Existing(ctx, kubeconfig, 0)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := c.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: realnode.Label + "=" + realnode.LabelValue})
	if err != nil || len(nodes.Items) != 1 {
		t.Errorf("real nodes = %d, %v; want 1", len(nodes.Items), err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("up after its end was asked for = %v", err)
	}
}
