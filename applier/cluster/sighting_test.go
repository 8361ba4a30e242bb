package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"situ.gitops/planner"
)

func sightingOf(t *testing.T, object any) *sighting {
	t.Helper()
	seen, err := newSighting("situ")(object)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newSighting("situ")(seen)
	if err != nil || again != seen {
		t.Fatalf("a second transform = %v, %v; want the same sighting", again, err)
	}
	return seen.(*sighting)
}

func metadataWith(version string, annotations map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "u", ResourceVersion: version, Annotations: annotations,
		ManagedFields: []metav1.ManagedFieldsEntry{owner("kubectl-create", metav1.ManagedFieldsOperationUpdate, "", owned)}}}
}

func TestASightingKeepsWhatTellsStatesApartAndDropsTheRest(t *testing.T) {
	seen := sightingOf(t, metadataWith("7", map[string]string{"a": "1", corev1.LastAppliedConfigAnnotation: "{}"}))
	if len(seen.GetAnnotations()) != 0 || len(seen.GetManagedFields()) != 0 || !seen.adopt || seen.GetUID() != "u" || seen.GetResourceVersion() != "7" {
		t.Errorf("sighting = %+v; want name, UID, version and adopt only", seen.Object)
	}
	if other := sightingOf(t, metadataWith("7", map[string]string{"a": "1"})); other.digest != seen.digest {
		t.Error("the last-applied annotation counts in the digest")
	}
	if other := sightingOf(t, metadataWith("7", map[string]string{"a": "2"})); other.digest == seen.digest {
		t.Error("an edited annotation does not count in the digest")
	}
}

func TestTheKubeletsWordsHoldNoCommandAndNoEnv(t *testing.T) {
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Command: []string{"/bin/app --token=swordfish"}, Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "swordfish2"}}}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "RunContainerError", Message: `exec: "/bin/app --token=swordfish": no such file or directory; PASSWORD=swordfish2`}}}}},
	}
	got := sightingOf(t, pod).pod.Status.ContainerStatuses[0].State.Waiting.Message
	if want := `exec: "[hidden]": no such file or directory; PASSWORD=[hidden]`; got != want {
		t.Errorf("the kubelet's words are kept as %q, want %q", got, want)
	}
}

func TestAControllersWordsHoldNoEnv(t *testing.T) {
	deployment := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"spec": map[string]any{"progressDeadlineSeconds": int64(60), "replicas": int64(1), "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
			"name": "app", "env": []any{map[string]any{"name": "PASSWORD", "value": "swordfish"}}}}}}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Stalled", "status": "True", "reason": "Refused",
			"message": "a policy says: PASSWORD is swordfish"}}},
	}}
	if got, want := healthOf(deployment).Text, "a policy says: PASSWORD is [hidden]"; got != want {
		t.Errorf("healthOf says %q, want %q", got, want)
	}
}

func TestAPodIsFoundByItsControllerOrByItself(t *testing.T) {
	yes := true
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p"}}
	owned := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "q", OwnerReferences: []metav1.OwnerReference{{UID: "not"}, {UID: "set", Controller: &yes}}}}
	for _, tt := range []struct {
		pod  *corev1.Pod
		want string
	}{{bare, "p"}, {owned, "set"}} {
		if got, err := indexByOwner(sightingOf(t, tt.pod)); err != nil || len(got) != 1 || got[0] != tt.want {
			t.Errorf("indexByOwner = %v, %v; want %s", got, err, tt.want)
		}
	}
}

func TestAProofIsTakenAgainOnlyWhenItsBasisChanged(t *testing.T) {
	at := func(version string, generation int64, annotation string) basis {
		live := metadataWith(version, map[string]string{"a": annotation})
		live.Generation = generation
		return basisOf(target{served: true, live: sightingOf(t, live)}, [32]byte{1})
	}
	for _, tt := range []struct {
		name string
		a, b basis
		same bool
	}{
		{"status of a kind with generations", at("1", 3, "x"), at("2", 3, "x"), true},
		{"spec", at("1", 3, "x"), at("2", 4, "x"), false},
		{"annotation", at("1", 3, "x"), at("2", 3, "y"), false},
		{"kind without generations", at("1", 0, "x"), at("2", 0, "x"), false},
		{"gone", at("1", 3, "x"), basisOf(target{served: true}, [32]byte{1}), false},
		{"manifest", basisOf(target{served: true}, [32]byte{1}), basisOf(target{served: true}, [32]byte{2}), false},
		{"kind came", basisOf(target{}, [32]byte{1}), basisOf(target{served: true}, [32]byte{1}), false},
	} {
		if same := tt.a == tt.b; same != tt.same {
			t.Errorf("%s: same basis = %v, want %v", tt.name, same, tt.same)
		}
	}
}

func TestResolveDropsWhatOnlyAServerSets(t *testing.T) {
	c := &Client{namespace: "shop"}
	given := parse(t, `{"apiVersion":"apps/v1","kind":"Deployment","status":{},"spec":{"paused":null,"list":[{"x":null}]},"metadata":{"name":"web","uid":"u",
		"resourceVersion":"1","creationTimestamp":null,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","keep":"x"}}}`)
	manifest := planner.Manifest{Ref: planner.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, Object: given}
	got := c.inPlace(manifest, true)
	want := parse(t, `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"list":[{}]},"metadata":{"name":"web","namespace":"shop","annotations":{"keep":"x"}}}`)
	if text, wanted := jsonOf(t, got.Object), jsonOf(t, want); text != wanted || got.Namespace != "shop" {
		t.Errorf("inPlace = %s in %q\nwant %s", text, got.Namespace, wanted)
	}
	if given["metadata"].(map[string]any)["uid"] != "u" || given["status"] == nil {
		t.Error("inPlace edited what it was given")
	}
	if cluster := c.inPlace(got, false); cluster.Namespace != "" || cluster.Object["metadata"].(map[string]any)["namespace"] != nil {
		t.Errorf("a cluster-scoped kind keeps its namespace: %v", cluster)
	}
}
