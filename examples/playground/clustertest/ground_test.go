package clustertest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	situ "situ.gitops/applier/cluster"
	"situ.gitops/examples/playground/cluster"
	"situ.gitops/planner"
)

// ground is the cluster of all tests; each test has a namespace of its own.
var ground *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	var err error
	ground, err = cluster.Start(ctx, cluster.Options{Nodes: 5, Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer ground.Stop()
	return m.Run()
}

// room is a namespace with a client for it.
type room struct {
	*testing.T
	*situ.Client
	namespace string
}

func newRoom(t *testing.T) room {
	return newRoomFor(t, ground.Kubeconfig())
}

func newRoomFor(t *testing.T, kubeconfig string) room {
	t.Helper()
	created, err := ground.Client().CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "room-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := situ.New(t.Context(), situ.Options{Kubeconfig: kubeconfig, Namespace: created.Name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	r := room{T: t, Client: client, namespace: created.Name}
	r.eventually("the default service account", func() bool {
		_, err := ground.Client().CoreV1().ServiceAccounts(r.namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	return r
}

// eventually waits for something that the cluster does by itself.
func (r room) eventually(what string, done func() bool) {
	r.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			r.Fatalf("waited a minute for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// commit reads YAML documents as one commit, and resolves it.
func (r room) commit(documents ...string) planner.Commit {
	r.Helper()
	resolved, err := r.Resolve(r.Context(), read(r.T, documents...))
	if err != nil {
		r.Fatal(err)
	}
	return resolved
}

func read(t *testing.T, documents ...string) planner.Commit {
	t.Helper()
	commit := planner.Commit{ID: "c0ffee"}
	for i, document := range documents {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		metadata := object["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		commit.Manifests = append(commit.Manifests, planner.Manifest{
			Ref: planner.Ref{APIVersion: object["apiVersion"].(string), Kind: object["kind"].(string),
				Namespace: namespace, Name: metadata["name"].(string)},
			Origin: planner.Origin{File: "test.yaml", Document: i + 1},
			Object: object,
		})
	}
	return commit
}

func (r room) snapshot(commit planner.Commit) planner.Snapshot {
	r.Helper()
	snapshot, err := r.Snapshot(r.Context(), commit)
	if err != nil {
		r.Fatal(err)
	}
	return snapshot
}

func (r room) do(action planner.Action) {
	r.Helper()
	if err := r.Do(r.Context(), action); err != nil {
		r.Fatal(err)
	}
}

// apply writes every manifest of a commit as it is.
func (r room) apply(commit planner.Commit) {
	r.Helper()
	snapshot := r.snapshot(commit)
	for _, m := range commit.Manifests {
		action := planner.Action{Mode: planner.ServerSideApply, Ref: m.Ref, Body: m.Object, Adopt: snapshot.Proofs[m.Ref].Adopt}
		if live, ok := snapshot.Live[m.Ref]; ok {
			action.UID = live.Object.GetUID()
		}
		r.do(action)
	}
}

// podsOf waits until a Deployment's pods are there and running.
func (r room) podsOf(commit planner.Commit, n int) []*corev1.Pod {
	r.Helper()
	var pods []*corev1.Pod
	r.eventually(fmt.Sprintf("%d running pods", n), func() bool {
		pods = nil
		for _, owned := range r.snapshot(commit).Pods {
			pods = append(pods, owned...)
		}
		return len(pods) == n && !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
	})
	return pods
}

func podRef(pod *corev1.Pod) planner.Ref {
	return planner.Ref{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
}

func deployment(replicas int, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: app, image: %q}
`, replicas, image)
}

const settings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: hello}
`

func wantText(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s = %q; want %q in it", what, text, part)
		}
	}
}
