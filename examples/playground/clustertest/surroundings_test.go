package clustertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
)

const scaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web-scaler}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`

const budget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web-budget}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`

func TestASnapshotShowsWhoElseHasASayInAWorkload(t *testing.T) {
	r := newRoom(t)
	r.apply(r.commit(deployment(2, "app:v1"), scaler, budget))
	commit := r.commit(deployment(2, "app:v1"))
	r.podsOf(commit, 2)
	snapshot := r.snapshot(commit)
	if got := snapshot.Autoscalers[commit.Manifests[0].Ref]; got != "horizontalpodautoscaler/web-scaler" {
		t.Errorf("Autoscalers = %q, want the one of the deployment", got)
	}
	if !snapshot.Served.Resize {
		t.Error("Served.Resize = false on a server that has pods/resize")
	}
	r.eventually("one allowed disruption", func() bool {
		budgets := r.snapshot(commit).Disruptions[r.namespace]
		return len(budgets) == 1 && budgets[0].Status.DisruptionsAllowed == 1
	})
}

func TestABudgetThatOpensIsSignalled(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(deployment(1, "app:v1"))
	r.apply(commit)
	r.podsOf(commit, 1)
	r.snapshot(commit)
	drain(r)
	m := r.commit(budget).Manifests[0]
	r.do(planner.Action{Mode: planner.ServerSideApply, Ref: m.Ref, Body: m.Object})
	<-r.Changes()
}

func TestASnapshotShowsTheImagesOfNodesAndThePodsThatBringThem(t *testing.T) {
	r := newRoom(t)
	nodes, err := ground.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node := nodes.Items[0].Name
	patch := `{"status":{"images":[{"names":["web:v7"]},{"names":["quay.io/shop/web@sha256:abc","quay.io/shop/web:v8"]}]}}`
	if _, err := ground.Client().CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	commit := r.commit(deployment(1, "app:v1"))
	r.apply(commit)
	uid := r.snapshot(commit).Live[commit.Manifests[0].Ref].Object.GetUID()
	const pull = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s, labels: {%s: %s}%s}\nspec: {nodeName: %s, containers: [{name: pull, image: 'web:v9'}]}"
	owner := fmt.Sprintf(", ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: %s}]", uid)
	stranger := read(t, fmt.Sprintf(pull, "situ-pull-b", r.namespace, planner.LabelPull, uid, "", node)).Manifests[0]
	r.do(planner.Action{Mode: planner.CreateOnly, Ref: stranger.Ref, Body: stranger.Object})
	m := read(t, fmt.Sprintf(pull, "situ-pull-a", r.namespace, planner.LabelPull, uid, owner, node)).Manifests[0]
	drain(r)
	r.do(planner.Action{Mode: planner.CreateOnly, Ref: m.Ref, Body: m.Object})
	snapshot := r.snapshot(commit)
	if len(snapshot.Pulls) != 1 || snapshot.Pulls[0].Name != "situ-pull-a" {
		t.Errorf("Pulls = %v, want the one", snapshot.Pulls)
	}
	<-r.Changes() // of the pull's own progress
	r.eventually("the node's images", func() bool {
		has := r.snapshot(commit).Images[node]
		return has[planner.ImageName("web:v7")] && has[planner.ImageName("quay.io/shop/web:v8")] && !has[planner.ImageName("web:v9")]
	})
}

func TestAFieldThatSituGivesUpKeepsItsValue(t *testing.T) {
	for _, kubectl := range []bool{false, true} {
		t.Run(fmt.Sprintf("made by kubectl: %v", kubectl), func(t *testing.T) {
			r := newRoom(t)
			if kubectl {
				r.kubectlApply(deployments, deployment(3, "app:v1"))
			} else {
				r.apply(r.commit(deployment(3, "app:v1")))
			}
			commit := r.commit(strings.Replace(deployment(1, "app:v1"), "replicas: 1", "paused: false", 1))
			m, snapshot := commit.Manifests[0], r.snapshot(commit)
			r.do(planner.Action{Mode: planner.ServerSideApply, Ref: m.Ref, UID: snapshot.Live[m.Ref].Object.GetUID(), Body: m.Object,
				Adopt: snapshot.Proofs[m.Ref].Adopt, Disown: []string{"spec.replicas"}})
			stored, err := dynamicClient(t).Resource(deployments).Namespace(r.namespace).Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if replicas, _, _ := unstructured.NestedInt64(stored.Object, "spec", "replicas"); replicas != 3 {
				t.Errorf("replicas = %d, want the 3 that were there", replicas)
			}
			for _, entry := range stored.GetManagedFields() {
				if entry.Subresource == "" && strings.Contains(string(entry.FieldsV1.GetRawBytes()), "f:replicas") {
					t.Errorf("%s still owns the replicas", entry.Manager)
				}
			}
		})
	}
}

func TestSubresourcesAndTrialsOfAPod(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(strings.Replace(deployment(1, "app:v1"), "image: ", "resources: {requests: {cpu: 10m}}, image: ", 1))
	r.apply(commit)
	pod := r.podsOf(commit, 1)[0]
	patch := func(subresource string, dryRun bool, body string) {
		t.Helper()
		var fields map[string]any
		if err := json.Unmarshal([]byte(body), &fields); err != nil {
			t.Fatal(err)
		}
		r.do(planner.Action{Mode: planner.StrategicPatch, Ref: podRef(pod), UID: pod.UID, Subresource: subresource, DryRun: dryRun, Body: fields})
	}
	patch("", true, `{"metadata":{"labels":{"trial":"x"}}}`)
	patch("resize", false, `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"20m"}}}]}}`)
	patch("status", false, `{"status":{"conditions":[{"type":"InPlaceUpdateReady","status":"True"}]}}`)
	after := r.podsOf(commit, 1)[0]
	if after.Labels["trial"] != "" {
		t.Error("a dry run wrote a label")
	}
	if got := after.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "20m" {
		t.Errorf("cpu request = %s, want 20m", got)
	}
	gate := corev1.ConditionUnknown
	for _, condition := range after.Status.Conditions {
		if condition.Type == "InPlaceUpdateReady" {
			gate = condition.Status
		}
	}
	if gate != corev1.ConditionTrue {
		t.Errorf("gate = %s, want True", gate)
	}
}
