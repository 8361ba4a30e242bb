package clustertest

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"situ.gitops/planner"
)

func deleteDefinition(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if err := dynamicClient(t).Resource(resource).Delete(context.WithoutCancel(t.Context()), "widgets.clustertest.example.com", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

func dynamicClient(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(ground.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// kubectlApply does what "kubectl apply" does for a new object.
func (r room) kubectlApply(resource schema.GroupVersionResource, document string) *unstructured.Unstructured {
	r.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		r.Fatal(err)
	}
	text, err := json.Marshal(object)
	if err != nil {
		r.Fatal(err)
	}
	given := &unstructured.Unstructured{Object: object}
	given.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(text)})
	created, err := dynamicClient(r.T).Resource(resource).Namespace(r.namespace).Create(r.Context(), given,
		metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
	if err != nil {
		r.Fatal(err)
	}
	return created
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

func TestAdoptionTakesAwayWhatKubectlWasGivenAndGitDoesNotHave(t *testing.T) {
	r := newRoom(t)
	old := strings.Replace(deployment(1, "app:v1"), "metadata: {name: web}", "metadata: {name: web, annotations: {mine: x}}", 1)
	old = strings.Replace(old, "terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 1\n      priority: 0", 1)
	old = strings.Replace(old, "- {name: app, image: \"app:v1\"}", "- {name: app, image: \"app:v1\", env: [{name: OLD, value: x}]}\n      - {name: side, image: \"side:v1\"}", 1)
	created := r.kubectlApply(deployments, old)
	restart := []byte(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}}}`)
	if _, err := ground.Client().AppsV1().Deployments(r.namespace).Patch(t.Context(), "web", types.StrategicMergePatchType, restart,
		metav1.PatchOptions{FieldManager: "kubectl-rollout"}); err != nil {
		t.Fatal(err)
	}
	commit := r.commit(deployment(1, "app:v1"))
	ref := commit.Manifests[0].Ref
	proof := r.snapshot(commit).Proofs[ref]
	if !proof.Adopt || proof.Object == nil {
		t.Fatalf("Proof = %+v; want one that adopts", proof)
	}
	wantAdopted(t, "proof", proof.Object)

	r.apply(commit)
	stored, err := dynamicClient(t).Resource(deployments).Namespace(r.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantAdopted(t, "stored", stored)
	if stored.GetUID() != created.GetUID() {
		t.Error("adoption made a new object")
	}
	if _, ok := stored.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok {
		t.Error("the last-applied annotation outlived the adoption")
	}
	for _, entry := range stored.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "kubectl-client") {
			t.Errorf("%s still owns fields", entry.Manager)
		}
	}
	if r.snapshot(commit).Proofs[ref].Adopt {
		t.Error("the next proof adopts again")
	}
}

func wantAdopted(t *testing.T, what string, object *unstructured.Unstructured) {
	t.Helper()
	containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if len(containers) != 1 {
		t.Errorf("%s has %d containers, want the one that Git has", what, len(containers))
		return
	}
	if env := containers[0].(map[string]any)["env"]; env != nil {
		t.Errorf("%s has env %v, want none", what, env)
	}
	if _, ok := object.GetAnnotations()["mine"]; ok {
		t.Errorf("%s keeps the annotation that Git does not have", what)
	}
	restarted, _, _ := unstructured.NestedString(object.Object, "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
	if restarted == "" {
		t.Errorf("%s lost restartedAt, which would restart the pods", what)
	}
}

func TestAdoptionOfWhatGitAlsoSaysChangesNothing(t *testing.T) {
	r := newRoom(t)
	r.kubectlApply(deployments, deployment(1, "app:v1"))
	commit := r.commit(deployment(1, "app:v1"))
	ref := commit.Manifests[0].Ref
	pod := r.podsOf(commit, 1)[0]
	snapshot := r.snapshot(commit)
	plan := planner.Decide(commit, snapshot)
	for _, workload := range plan.Workloads {
		if len(workload.Steps) != 0 {
			t.Errorf("the plan has steps: %+v", workload.Steps)
		}
	}
	r.apply(commit)
	before, after := snapshot.Live[ref].Object.Object["spec"], r.snapshot(commit).Live[ref].Object.Object["spec"]
	if !reflect.DeepEqual(before, after) {
		t.Errorf("adoption changed the spec:\n%v\n%v", before, after)
	}
	if again := r.podsOf(commit, 1)[0]; again.UID != pod.UID {
		t.Error("adoption restarted the pod")
	}
}

func TestAdoptionLeavesWhatAControllerScaled(t *testing.T) {
	r := newRoom(t)
	r.kubectlApply(deployments, deployment(1, "app:v1"))
	if _, err := ground.Client().AppsV1().Deployments(r.namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`),
		metav1.PatchOptions{FieldManager: "horizontal-pod-autoscaler"}, "scale"); err != nil {
		t.Fatal(err)
	}
	commit := r.commit(strings.Replace(deployment(1, "app:v1"), "replicas: 1", "paused: false", 1))
	ref := commit.Manifests[0].Ref
	proven, _, _ := unstructured.NestedInt64(r.snapshot(commit).Proofs[ref].Object.Object, "spec", "replicas")
	r.apply(commit)
	stored, _, _ := unstructured.NestedInt64(r.snapshot(commit).Live[ref].Object.Object, "spec", "replicas")
	if proven != 3 || stored != 3 {
		t.Errorf("replicas: proven %d, stored %d; want the 3 that the autoscaler wants", proven, stored)
	}
}

func TestWhatKubectlCreatedCanBeTakenAwayLater(t *testing.T) {
	r := newRoom(t)
	maps := ground.Client().CoreV1().ConfigMaps(r.namespace)
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"},
		Data: map[string]string{"greeting": "hello", "foreign": "x"}}, metav1.CreateOptions{FieldManager: "kubectl-create"}); err != nil {
		t.Fatal(err)
	}
	commit := r.commit(settings)
	if proof := r.snapshot(commit).Proofs[commit.Manifests[0].Ref]; !proof.Adopt {
		t.Fatalf("Proof = %+v; want one that adopts", proof)
	}
	r.apply(commit)
	r.apply(r.commit("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {other: z}"))
	stored, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := stored.Data["greeting"]; ok || stored.Data["foreign"] != "x" || stored.Data["other"] != "z" {
		t.Errorf("data = %v; want greeting gone with Git's, foreign kept, other added", stored.Data)
	}
}
