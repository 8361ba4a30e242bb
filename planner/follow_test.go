package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// notFollowed are the decisions of the case file that are not asked of a plan
// which follows OpenKruise, and why.
var notFollowed = map[string]string{
	"env-011":  "its feature gate is other than by default",
	"vct-003":  "as env-011",
	"vct-005":  "as env-011",
	"vct-007":  "as env-011",
	"vct-009":  "as env-011",
	"res-003":  "as env-011",
	"res-005":  "as env-011",
	"res-007":  "as env-011",
	"res-009":  "as env-011",
	"res-011":  "as env-011",
	"res-013":  "as env-011",
	"res-015":  "as env-011",
	"res-017":  "as env-011",
	"res-019":  "as env-011",
	"res-021":  "as env-011",
	"res-023":  "as env-011",
	"spec-027": "its webhook refuses it, in its own words",
	"type-013": "as spec-027",
	"sts-003":  "as spec-027",
	"sts-005":  "as spec-027",
	"sts-007":  "as spec-027",
	"ds-003":   "as spec-027",
	"ds-007":   "as spec-027",
	"pod-009":  "it is about this moment; the prediction is about the pod's whole way",
	"pod-013":  "as pod-009",
	"ss-":      "a SidecarSet has no pods of its own",
}

// TestWhereKruiseRunsThePodsItsOwnDecisionsArePredicted asks every decision of
// the case file as OpenKruise makes it, and that nothing but the object is written.
func TestWhereKruiseRunsThePodsItsOwnDecisionsArePredicted(t *testing.T) {
	cases, _ := readCases(t)
	for _, c := range cases {
		if reasonIn(notFollowed, c.ID) != "" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			commit, snap := followedCase(c)
			plan := Decide(commit, snap)
			onlyTheObject(t, plan)
			decision, containers := decisionOf(plan, c)
			if decision != c.Decision || !slices.Equal(containers, sorted(c.Containers)) {
				t.Errorf("%s: predicted %s %v, want %s %v: %v", c.Description, decision, containers, c.Decision, c.Containers, plan.Workloads[0].Reasons)
			}
			if decision == "recreate" && strings.HasPrefix(c.Reason, "/") && !names(plan.Workloads[0].Reasons, c.Reason) {
				t.Errorf("reasons are %v; want one at %s", plan.Workloads[0].Reasons, c.Reason)
			}
		})
	}
	for id := range notFollowed {
		if !strings.HasSuffix(id, "-") && !slices.ContainsFunc(cases, func(c decisionCase) bool { return c.ID == id }) {
			t.Errorf("%s is listed as not followed, but there is no such case", id)
		}
	}
}

func reasonIn(list map[string]string, id string) string {
	for prefix, why := range list {
		if id == prefix || strings.HasSuffix(prefix, "-") && strings.HasPrefix(id, prefix) {
			return why
		}
	}
	return ""
}

func onlyTheObject(t *testing.T, plan Plan) {
	t.Helper()
	for _, w := range plan.Workloads {
		for _, step := range append(w.Steps, w.Cleanup) {
			for _, a := range step {
				if a.Ref != w.Ref || a.Mode != ServerSideApply || a.Subresource != "" {
					t.Errorf("the plan of %s has %s %s", w.Ref, a.Mode, a.Ref)
				}
			}
		}
	}
}

// followedCase is a case on a cluster whose OpenKruise has made all pods.
func followedCase(c decisionCase) (Commit, Snapshot) {
	from, to := followedManifest(c, c.Old), followedManifest(c, c.New)
	made := from
	if c.Pod.Revision == "new" {
		made = to
	}
	snap := kruised(made, to, 3)
	for owner, pods := range snap.Pods {
		for i := range pods {
			special(snap.Pods[owner][i], c)
			if c.Pod.Lifecycle != "" {
				snap.Pods[owner][i].Labels[LabelLifecycle] = c.Pod.Lifecycle
			}
		}
	}
	return Commit{ID: "c2", Manifests: []Manifest{to}}, snap
}

func followedManifest(c decisionCase, template map[string]any) Manifest {
	strategy := map[string]any{"type": "RollingUpdate"}
	rolling := map[string]any{}
	policy := "podUpdatePolicy"
	if c.Kind == "DaemonSet" {
		policy = "rollingUpdateType"
	}
	if c.UpdateType == "OnDelete" {
		strategy["type"] = "OnDelete"
	} else {
		rolling[policy], strategy["rollingUpdate"] = c.UpdateType, rolling
	}
	if c.Workload["paused"] == true {
		rolling["paused"] = true
	}
	return kruiseManifest(c.Kind, map[string]any{"replicas": int64(3), "template": clone(template), "updateStrategy": strategy})
}

func kruiseManifest(kind string, spec map[string]any) Manifest {
	ref := Ref{APIVersion: groupKruise + "/v1beta1", Kind: kind, Namespace: "shop", Name: "harbor"}
	return Manifest{Ref: ref, Object: map[string]any{
		"apiVersion": ref.APIVersion, "kind": kind, "spec": spec,
		"metadata": map[string]any{"name": ref.Name, "namespace": ref.Namespace, "generation": int64(1)},
	}}
}

// kruised is a snapshot in which OpenKruise has made pods from one manifest, and
// the server would store another.
func kruised(from, to Manifest, count int) Snapshot {
	object := &unstructured.Unstructured{Object: clone(from.Object).(map[string]any)}
	object.SetUID("set")
	template := templateOf(from.Object)
	hash := revision(template)
	counts := countsOfKinds[from.Kind]
	object.Object["status"] = map[string]any{
		"observedGeneration": int64(1), "desiredNumberScheduled": int64(count), counts.revision: "harbor-" + hash,
		counts.updated: int64(count),
	}
	record := &unstructured.Unstructured{Object: map[string]any{"kind": "ControllerRevision", "data": revisionData(template)}}
	record.SetName("harbor-" + hash)
	snap := Snapshot{
		Now:    time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		Live:   map[Ref]Live{from.Ref: {Object: object, Health: Health{Status: "Current"}}},
		Proofs: map[Ref]Proof{to.Ref: {Object: &unstructured.Unstructured{Object: clone(to.Object).(map[string]any)}}},
		Owned:  map[types.UID][]*unstructured.Unstructured{"set": {record}},
		Pods:   map[types.UID][]*corev1.Pod{},
	}
	for i := range count {
		pod := assumedPod(template, from, fmt.Sprintf("harbor-%d", i), "set", "harbor-"+hash)
		pod.Spec.NodeName = fmt.Sprintf("n%d", i)
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: GateReady}}
		snap.Pods["set"] = append(snap.Pods["set"], pod)
	}
	return snap
}

func kruiseTemplate(image string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "harbor"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": image}}},
	}
}

// kruiseSet is a CloneSet that updates in place, with one image.
func kruiseSet(image string, rolling map[string]any) Manifest {
	all := map[string]any{"podUpdatePolicy": "InPlaceIfPossible"}
	for k, v := range rolling {
		all[k] = v
	}
	return kruiseManifest("CloneSet", map[string]any{
		"replicas": int64(4), "template": kruiseTemplate(image),
		"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": all},
	})
}

func TestWhatKruiseRunsIsFollowedUntilItsStatusSaysSo(t *testing.T) {
	old, wanted := kruiseSet("app:v1", nil), kruiseSet("app:v2", nil)
	for _, tt := range []struct {
		name   string
		from   Manifest // what the pods are made from
		change func(status map[string]any, pods []*corev1.Pod)
		state  State
		text   string
	}{
		{"as Git has it", wanted, nil, Settled, ""},
		{"not applied yet", old, nil, Progressing, "updating"},
		{"not seen yet", wanted, func(s map[string]any, _ []*corev1.Pod) { s["observedGeneration"] = int64(0) },
			Progressing, "for OpenKruise's controller to see it"},
		{"not counted yet", wanted, func(s map[string]any, _ []*corev1.Pod) { s["updatedReplicas"] = int64(2) },
			Progressing, "for OpenKruise to count its updated pods: 2 of 4, 4 of them ready"},
		{"not counted as ready yet", wanted, func(s map[string]any, _ []*corev1.Pod) { s["updatedReadyReplicas"] = int64(3) },
			Progressing, "for OpenKruise to count its updated pods: 4 of 4, 3 of them ready"},
		{"in the middle of a hook", wanted, func(_ map[string]any, pods []*corev1.Pod) { pods[0].Labels[LabelLifecycle] = "PreparingUpdate" },
			Progressing, "pod harbor-0: OpenKruise has it in state PreparingUpdate"},
		{"a pod that will not come up", wanted, func(_ map[string]any, pods []*corev1.Pod) {
			pods[0].Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
			makeUnready(pods[0])
		}, Failed, "pod harbor-0: container web: ImagePullBackOff: no such image"},
		{"it gave up", wanted, func(s map[string]any, _ []*corev1.Pod) {
			s["conditions"] = []any{map[string]any{"type": "FailedUpdate", "status": "True", "message": "can not update in-place"}}
		}, Failed, "OpenKruise: FailedUpdate: can not update in-place"},
		{"too late", wanted, func(s map[string]any, _ []*corev1.Pod) {
			s["conditions"] = []any{map[string]any{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too slow"}}
		}, Failed, "OpenKruise: Progressing: too slow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			snap := kruised(tt.from, wanted, 4)
			if tt.change != nil {
				tt.change(mapAt(snap.Live[wanted.Ref].Object.Object, "status"), snap.Pods["set"])
			}
			plan := Decide(Commit{ID: "c", Manifests: []Manifest{wanted}}, snap)
			onlyTheObject(t, plan)
			if w := plan.Workloads[0]; w.State != tt.state || w.Text != tt.text {
				t.Errorf("%s %q, want %s %q", w.State, w.Text, tt.state, tt.text)
			}
		})
	}
}

func TestPodsThatKruiseKeepsOnPurposeAreHeld(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rolling map[string]any
		turns   []int
		text    string
	}{
		{"partition", map[string]any{"partition": "50%"}, []int{1, 2, 0, 0}, "updating"},
		{"paused", map[string]any{"paused": true}, []int{0, 0, 0, 0}, "updating"},
		{"surge makes maxUnavailable round down", map[string]any{"maxSurge": int64(1), "maxUnavailable": "20%"}, []int{2, 3, 4, 5}, "updating"},
		{"it rounds up without one", map[string]any{"maxUnavailable": "30%"}, []int{1, 1, 2, 2}, "updating"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wanted := kruiseSet("app:v2", tt.rolling)
			plan := Decide(Commit{ID: "c", Manifests: []Manifest{wanted}}, kruised(kruiseSet("app:v1", nil), wanted, 4))
			onlyTheObject(t, plan)
			var turns []int
			for _, pod := range plan.Workloads[0].Pods {
				turns = append(turns, pod.Turn)
			}
			if !slices.Equal(turns, tt.turns) {
				t.Errorf("turns %v, want %v: %s", turns, tt.turns, plan.Workloads[0].Budget.Text)
			}
		})
	}
}

func TestBothNeverHaveTheSamePods(t *testing.T) {
	wanted := kruiseSet("app:v1", nil)
	host := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet"}}
	host.SetName("harbor")
	host.SetAnnotations(map[string]string{AnnotationHosts: wanted.APIVersion + "/" + wanted.Kind})
	snap := kruised(wanted, wanted, 0)
	delete(snap.Live, wanted.Ref)
	snap.Namesakes = map[Ref]Namesake{hostRef(wanted.Ref): {Object: host, Ours: true}}
	w := Decide(Commit{ID: "c", Manifests: []Manifest{wanted}}, snap).Workloads[0]
	if w.State != Failed || len(w.Steps) > 0 || !strings.Contains(w.Text, "delete replicaset/harbor") {
		t.Errorf("%s %q with %d steps; want a refusal that names replicaset/harbor and the way out", w.State, w.Text, len(w.Steps))
	}
	host.SetAnnotations(nil) // somebody else's
	if w := Decide(Commit{ID: "c", Manifests: []Manifest{wanted}}, snap).Workloads[0]; !w.Create {
		t.Errorf("%s %q; want it created", w.State, w.Text)
	}
}

func TestSettingsThatKruiseCannotObeyAreTold(t *testing.T) {
	wanted := edited(kruiseSet("app:v1", nil), set1("50%", "metadata", "annotations", AnnotationPartition), set1("1m", "metadata", "annotations", AnnotationDeadline))
	w := Decide(Commit{ID: "c", Manifests: []Manifest{wanted}}, kruised(wanted, wanted, 4)).Workloads[0]
	if len(w.Warnings) != 1 || !strings.Contains(w.Warnings[0], AnnotationPartition) {
		t.Errorf("warnings %q; want one about %s", w.Warnings, AnnotationPartition)
	}
}

// TestEveryRuleOfKruiseHasACase keeps the table and the case file in step.
func TestEveryRuleOfKruiseHasACase(t *testing.T) {
	cases, _ := readCases(t)
	met := map[string]bool{}
	for _, c := range cases {
		if reasonIn(notFollowed, c.ID) == "" {
			for _, change := range literalChanges(literalTemplate(map[string]any{"spec": map[string]any{"template": c.Old}}), literalTemplate(map[string]any{"spec": map[string]any{"template": c.New}})) {
				met[kruiseRule(change, Template(c.New)).ID] = true
			}
		}
	}
	for _, row := range kruiseRules {
		if !met[row.ID] {
			t.Errorf("no case has a change that %s decides", row.ID)
		}
	}
}

func TestASidecarSetIsFollowedByItsStatus(t *testing.T) {
	ref := Ref{APIVersion: groupKruise + "/v1beta1", Kind: "SidecarSet", Name: "mesh"}
	for _, tt := range []struct {
		name   string
		spec   map[string]any
		status map[string]any
		state  State
		text   string
	}{
		{"all have it", nil, map[string]any{"matchedPods": int64(4), "updatedPods": int64(4), "updatedReadyPods": int64(4)}, Settled, ""},
		{"on its way", nil, map[string]any{"matchedPods": int64(4), "updatedPods": int64(2), "updatedReadyPods": int64(2)}, Progressing, "2 of 4 matched pods have it, 2 of them ready"},
		{"not ready", nil, map[string]any{"matchedPods": int64(4), "updatedPods": int64(4), "updatedReadyPods": int64(3)}, Progressing, "4 of 4 matched pods have it, 3 of them ready"},
		{"partition", map[string]any{"updateStrategy": map[string]any{"partition": "50%"}},
			map[string]any{"matchedPods": int64(4), "updatedPods": int64(2), "updatedReadyPods": int64(2)}, Held, "2 of 4 matched pods have it, 2 of them ready: kept by partition"},
		{"new pods only", map[string]any{"updateStrategy": map[string]any{"type": "NotUpdate"}},
			map[string]any{"matchedPods": int64(4), "updatedPods": int64(0), "updatedReadyPods": int64(0)}, Held, "0 of 4 matched pods have it, 0 of them ready: updateStrategy NotUpdate"},
		{"paused", map[string]any{"updateStrategy": map[string]any{"paused": true}},
			map[string]any{"matchedPods": int64(4), "updatedPods": int64(1), "updatedReadyPods": int64(1)}, Held, "1 of 4 matched pods have it, 1 of them ready: paused"},
		{"not seen", nil, map[string]any{"observedGeneration": int64(0)}, Progressing, "for OpenKruise's controller to see it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := map[string]any{"containers": []any{}}
			for k, v := range tt.spec {
				spec[k] = v
			}
			m := Manifest{Ref: ref, Object: map[string]any{"apiVersion": ref.APIVersion, "kind": ref.Kind, "metadata": map[string]any{"name": ref.Name, "generation": int64(1)}, "spec": spec}}
			live := &unstructured.Unstructured{Object: clone(m.Object).(map[string]any)}
			status := map[string]any{"observedGeneration": int64(1)}
			for k, v := range tt.status {
				status[k] = v
			}
			live.Object["status"] = status
			o := Decide(Commit{ID: "c", Manifests: []Manifest{m}}, Snapshot{
				Live:   map[Ref]Live{ref: {Object: live, Health: Health{Status: "Current"}}},
				Proofs: map[Ref]Proof{ref: {Object: &unstructured.Unstructured{Object: m.Object}}},
			}).Objects[0]
			if o.State != tt.state || o.Text != tt.text {
				t.Errorf("%s %q, want %s %q", o.State, o.Text, tt.state, tt.text)
			}
		})
	}
}
