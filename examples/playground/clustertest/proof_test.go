package clustertest

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"situ.gitops/planner"
)

func TestAProofShowsWhatTheServerWouldStore(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(deployment(2, "app:v1"), settings)
	ref := commit.Manifests[0].Ref
	if ref.Namespace != r.namespace {
		t.Fatalf("Resolve: namespace = %q, want %q", ref.Namespace, r.namespace)
	}
	snapshot := r.snapshot(commit)
	if _, ok := snapshot.Live[ref]; ok {
		t.Error("a deployment is live before anybody made it")
	}
	proof := snapshot.Proofs[ref]
	if proof.Refusal != "" || proof.Missing || proof.Adopt {
		t.Fatalf("Proof = %+v; want it accepted", proof)
	}
	strategy, _, _ := unstructured.NestedString(proof.Object.Object, "spec", "strategy", "type")
	if strategy != "RollingUpdate" {
		t.Errorf("strategy in the proof = %q; want the server's default", strategy)
	}
	r.apply(commit)
	snapshot = r.snapshot(commit)
	for _, m := range commit.Manifests {
		live, proof := snapshot.Live[m.Ref].Object, snapshot.Proofs[m.Ref].Object
		if live == nil || proof == nil {
			t.Fatalf("%s: live %v, proof %v; want both", m.Ref, live, snapshot.Proofs[m.Ref])
		}
		if live.GetManagedFields() != nil || proof.GetManagedFields() != nil {
			t.Errorf("%s carries managed fields", m.Ref)
		}
		if !reflect.DeepEqual(live.Object["spec"], proof.Object["spec"]) || !reflect.DeepEqual(live.Object["data"], proof.Object["data"]) {
			t.Errorf("%s: proof differs from live after the apply:\n%v\n%v", m.Ref, live.Object, proof.Object)
		}
	}
	changed := r.commit(deployment(2, "app:v2"), settings)
	image := imageOf(r.snapshot(changed).Proofs[ref].Object)
	if image != "app:v2" {
		t.Errorf("image in the changed proof = %q, want app:v2", image)
	}
}

func imageOf(object *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	image, _ := containers[0].(map[string]any)["image"].(string)
	return image
}

func TestARefusalIsTheServersOwnWords(t *testing.T) {
	r := newRoom(t)
	r.apply(r.commit(deployment(1, "app:v1")))
	for _, tt := range []struct {
		name, manifest string
		want           []string
	}{
		{"immutable", strings.ReplaceAll(deployment(1, "app:v1"), "app: web", "app: other"), []string{"spec.selector", "immutable"}},
		{"unknown field", strings.Replace(deployment(1, "app:v1"), "replicas:", "replicaz: 3\n  replicas:", 1), []string{"replicaz", "not declared in schema"}},
		{"invalid", strings.Replace(settings, "greeting:", "'sp ace':", 1), []string{"data[sp ace]"}},
		{"wrong type", strings.Replace(deployment(1, "app:v1"), "replicas: 1", "replicas: many", 1), []string{"replicas"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			commit := r.commit(tt.manifest)
			proof := r.snapshot(commit).Proofs[commit.Manifests[0].Ref]
			if proof.Object != nil || proof.Refusal == "" || proof.Missing {
				t.Fatalf("Proof = %+v; want a refusal", proof)
			}
			wantText(t, "Refusal", proof.Refusal, tt.want...)
			t.Log(proof.Refusal)
		})
	}
}

func TestARefusedManifestDoesNotHoldUpOthers(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(deployment(-1, "app:v1"), settings)
	snapshot := r.snapshot(commit)
	if snapshot.Proofs[commit.Manifests[0].Ref].Refusal == "" || snapshot.Proofs[commit.Manifests[1].Ref].Object == nil {
		t.Errorf("Proofs = %+v; want the first refused, the second accepted", snapshot.Proofs)
	}
}

func TestANamespaceThatIsMissingIsWaitedFor(t *testing.T) {
	r := newRoom(t)
	name := r.namespace + "-later"
	namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + "}"
	commit := r.commit(namespace, strings.Replace(settings, "name: settings", "name: settings, namespace: "+name, 1))
	ref := commit.Manifests[1].Ref
	if proof := r.snapshot(commit).Proofs[ref]; !proof.Missing || proof.Object != nil {
		t.Fatalf("Proof = %+v; want it missing", proof)
	} else {
		wantText(t, "Refusal", proof.Refusal, name, "not found")
	}
	r.do(planner.Action{Mode: planner.ServerSideApply, Ref: commit.Manifests[0].Ref, Body: commit.Manifests[0].Object})
	if proof := r.snapshot(commit).Proofs[ref]; proof.Object == nil {
		t.Errorf("Proof once the namespace is there = %+v; want it accepted", proof)
	}
}

func TestAKindNobodyHasIsAProblemWithPlaceAndWayOut(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(settings, "apiVersion: nowhere.example.com/v1\nkind: Thing\nmetadata: {name: x}")
	if len(commit.Manifests) != 1 || len(commit.Problems) != 1 {
		t.Fatalf("Resolve = %+v; want one manifest and one problem", commit)
	}
	wantText(t, "Problem", commit.Problems[0].String(), "test.yaml, document 2", "Thing", "CustomResourceDefinition")
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.clustertest.example.com}
spec:
  group: clustertest.example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`

func TestAKindThatTheSameCommitBringsIsWaitedFor(t *testing.T) {
	r := newRoom(t)
	widget := "apiVersion: clustertest.example.com/v1\nkind: Widget\nmetadata: {name: x}\nspec: {size: 1}"
	commit := r.commit(definition, widget)
	if len(commit.Problems) != 0 || commit.Manifests[1].Namespace != r.namespace {
		t.Fatalf("Resolve = %+v; want no problem, and the widget in %s", commit, r.namespace)
	}
	ref := commit.Manifests[1].Ref
	if proof := r.snapshot(commit).Proofs[ref]; !proof.Missing {
		t.Fatalf("Proof = %+v; want it missing", proof)
	}
	r.do(planner.Action{Mode: planner.ServerSideApply, Ref: commit.Manifests[0].Ref, Body: commit.Manifests[0].Object})
	r.Cleanup(func() { deleteDefinition(t) })
	for r.snapshot(commit).Proofs[ref].Object == nil {
		select {
		case <-r.Changes(): // the kind comes without an event of its own, and is signalled all the same
		case <-t.Context().Done():
			t.Fatal("no signal when the kind came")
		}
	}
	r.apply(commit)
	if health := r.snapshot(commit).Live[ref].Health; health.Status != "Current" {
		t.Errorf("Health of the widget = %+v; want Current", health)
	}
}

func TestABarePodIsProvenUnderItsOwnName(t *testing.T) {
	r := newRoom(t)
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: solo}\nspec: {containers: [{name: app, image: 'app:v1'}]}"
	commit := r.commit(pod)
	r.apply(commit)
	changed := r.commit(strings.Replace(pod, "name: app,", "name: app, command: [serve],", 1))
	ref := changed.Manifests[0].Ref
	snapshot := r.snapshot(changed)
	proof := snapshot.Proofs[ref]
	if proof.Object == nil || proof.Object.GetName() != "solo" {
		t.Fatalf("Proof = %+v; want a pod called solo: a command that cannot be changed is no refusal", proof)
	}
	live := snapshot.Live[ref].Object
	if pods := snapshot.Pods[live.GetUID()]; len(pods) != 1 || pods[0].Name != "solo" {
		t.Errorf("Pods by the pod's own UID = %v; want solo", pods)
	}
	pods, err := ground.Client().CoreV1().Pods(r.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Errorf("pods = %d, %v; want the one", len(pods.Items), err)
	}
}
