package cluster

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func owner(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	raw := &metav1.FieldsV1{}
	raw.SetRawBytes([]byte(fields))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: raw}
}

const owned = `{"f:spec":{"f:paused":{},"f:strategy":{"f:type":{}},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`

func TestOnlyIntendedFieldsChangeHands(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{
		owner("kubectl-client-side-apply", metav1.ManagedFieldsOperationUpdate, "", owned),
		owner("kubectl-rollout", metav1.ManagedFieldsOperationUpdate, "", `{"f:spec":{"f:x":{}}}`),
		owner("kubectl", metav1.ManagedFieldsOperationUpdate, "scale", `{"f:spec":{"f:replicas":{}}}`),
	}
	intent := parse(t, `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"x"}]}}}}`)
	got, changed, err := handedOver(entries, "situ", "apps/v1", intent, parse(t, `{"spec":{"paused":true}}`))
	if err != nil || !changed || len(got) != 3 {
		t.Fatalf("handedOver = %v, %v; want rollout's, scale's and ours", got, err)
	}
	if got[0].Manager != "kubectl-rollout" || got[1].Subresource != "scale" {
		t.Errorf("kept %s and %s; want kubectl-rollout and the scale subresource", got[0].Manager, got[1].Manager)
	}
	const want = `{"f:spec":{"f:paused":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`
	if ours := string(got[2].FieldsV1.GetRawBytes()); got[2].Manager != "situ" || got[2].Operation != metav1.ManagedFieldsOperationApply || ours != want {
		t.Errorf("ours = %s %s %s\nwant situ Apply %s", got[2].Manager, got[2].Operation, ours, want)
	}
}

func TestNothingIsHandedOverWithoutKubectl(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{owner("helm", metav1.ManagedFieldsOperationUpdate, "", owned)}
	if _, changed, err := handedOver(entries, "situ", "apps/v1", nil, nil); changed || err != nil {
		t.Errorf("handedOver = %v, %v; want nothing", changed, err)
	}
}

func TestAnObjectIsAdoptedOnce(t *testing.T) {
	kubectl := owner("kubectl-create", metav1.ManagedFieldsOperationUpdate, "", owned)
	situ := owner("situ", metav1.ManagedFieldsOperationApply, "", owned)
	status := owner("kubectl-edit", metav1.ManagedFieldsOperationUpdate, "status", owned)
	adopt := adopter("situ")
	for _, tt := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		{"kubectl's", []metav1.ManagedFieldsEntry{kubectl}, true},
		{"ours already", []metav1.ManagedFieldsEntry{kubectl, situ}, false},
		{"kubectl wrote status only", []metav1.ManagedFieldsEntry{status}, false},
		{"nobody's", nil, false},
	} {
		if got := adopt(tt.entries); got != tt.want {
			t.Errorf("%s: adopt = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestWhatOthersOwnIsNoLongerIntended(t *testing.T) {
	intent := parse(t, `{"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"app","image":"x"},{"name":"side","image":"y"}]}}}}`)
	entries := []metav1.ManagedFieldsEntry{
		owner("hpa", metav1.ManagedFieldsOperationUpdate, "scale", `{"f:spec":{"f:replicas":{}}}`),
		owner("updater", metav1.ManagedFieldsOperationUpdate, "", `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"side\"}":{"f:image":{}}}}}}}`),
	}
	if err := withoutOthers(intent, entries, "situ"); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(intent)
	const want = `{"spec":{"template":{"spec":{"containers":[{"image":"x","name":"app"},{"name":"side"}]}}}}`
	if string(text) != want {
		t.Errorf("intent = %s\nwant %s", text, want)
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func jsonOf(t *testing.T, object map[string]any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAFieldThatIsGivenUpHasNoOwnerAndAllOthersStay(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{
		owner("other", metav1.ManagedFieldsOperationApply, "", `{"f:spec":{"f:replicas":{}}}`),
		owner("situ", metav1.ManagedFieldsOperationApply, "", `{"f:spec":{"f:paused":{},"f:replicas":{}}}`),
	}
	got, changed, err := givenUp(entries, "situ", []string{"spec.replicas"})
	if err != nil || !changed {
		t.Fatalf("givenUp = %v, %v; want a change", changed, err)
	}
	for i, want := range []string{`{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:paused":{}}}`} {
		if text := string(got[i].FieldsV1.GetRawBytes()); text != want {
			t.Errorf("%s owns %s, want %s", got[i].Manager, text, want)
		}
	}
	if _, changed, _ := givenUp(got, "situ", []string{"spec.replicas"}); changed {
		t.Error("giving up twice changes twice")
	}
}
