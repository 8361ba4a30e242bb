package clustertest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
)

func TestASettledCommitCostsNoRequest(t *testing.T) {
	r := newRoom(t)
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {password: correct-horse}"
	namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + r.namespace + "}"
	documents := []string{deployment(2, "app:v1"), settings, secret, namespace}
	commit := r.commit(documents...)
	r.apply(commit)
	r.podsOf(commit, 2)
	r.snapshot(commit)
	before := r.Requests()
	for range 20 {
		r.snapshot(r.commit(documents...))
	}
	after := r.Requests()
	if after.Total() != before.Total() {
		t.Errorf("20 rounds sent %d requests: from %v to %v; want none", after.Total()-before.Total(), before, after)
	}
}

func TestOneChangedObjectCostsOneProof(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(deployment(1, "app:v1"), settings)
	r.apply(commit)
	r.podsOf(commit, 1)
	r.snapshot(commit)
	before := r.Requests().Verbs["dry-run"]
	commit = r.commit(deployment(1, "app:v2"), settings)
	r.snapshot(commit)
	r.snapshot(commit)
	if proofs := r.Requests().Verbs["dry-run"] - before; proofs != 1 {
		t.Errorf("dry runs for one changed manifest = %d, want 1", proofs)
	}
}

func TestChangesTellsOfEditsToWhatWasShownAndOfNothingElse(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(settings)
	r.apply(commit)
	r.snapshot(commit)
	drain(r)
	maps := ground.Client().CoreV1().ConfigMaps(r.namespace)
	touch := func(name, value string) {
		t.Helper()
		patch := []byte(`{"data":{"greeting":"` + value + `"}}`)
		if _, err := maps.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	other := planner.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: r.namespace, Name: "other"}
	r.do(planner.Action{Mode: planner.ServerSideApply, Ref: other, Body: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "other", "namespace": r.namespace}}})
	touch("other", "x")
	touch("settings", "changed") // comes after the others in the same watch
	<-r.Changes()
	if got := r.snapshot(commit).Live[commit.Manifests[0].Ref].Object.Object["data"].(map[string]any)["greeting"]; got != "changed" {
		t.Errorf("the signal came with greeting = %v; want it only for the edit of settings", got)
	}
}

func drain(r room) {
	for {
		select {
		case <-r.Changes():
		default:
			return
		}
	}
}
