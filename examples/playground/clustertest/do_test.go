package clustertest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	situ "situ.gitops/applier/cluster"
	"situ.gitops/planner"
)

func (r room) wantChanged(what string, action planner.Action) {
	r.Helper()
	if err := r.Do(r.Context(), action); !errors.Is(err, situ.ErrChanged) {
		r.Errorf("Do(%s) = %v; want ErrChanged", what, err)
	}
}

func TestDoWritesOnlyToTheObjectItWasDecidedOn(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(settings)
	m := commit.Manifests[0]
	apply := planner.Action{Mode: planner.ServerSideApply, Ref: m.Ref, Body: m.Object}
	operations := []any{map[string]any{"op": "add", "path": "/data/x", "value": "y"}}

	apply.UID = "11111111-2222-3333-4444-555555555555"
	r.wantChanged("apply to one that is gone", apply)
	apply.UID = ""
	r.do(apply)
	r.wantChanged("apply as new over one that is there", apply)
	r.do(planner.Action{Mode: planner.CreateOnly, Ref: m.Ref, Body: m.Object}) // one that is there is fine

	uid := r.snapshot(commit).Live[m.Ref].Object.GetUID()
	for _, mode := range []planner.Mode{planner.ServerSideApply, planner.StrategicPatch, planner.JSONPatch, planner.Delete} {
		action := planner.Action{Mode: mode, Ref: m.Ref, UID: "11111111-2222-3333-4444-555555555555", Body: m.Object}
		if mode == planner.JSONPatch {
			action.Body = operations
		}
		r.wantChanged(string(mode)+" with another UID", action)
	}
	r.do(planner.Action{Mode: planner.JSONPatch, Ref: m.Ref, UID: uid, Body: operations})
	apply.UID = uid
	r.do(apply)
	r.do(planner.Action{Mode: planner.Delete, Ref: m.Ref, UID: uid})
	r.wantChanged("patch of one that is gone", planner.Action{Mode: planner.StrategicPatch, Ref: m.Ref, UID: uid, Body: m.Object})
	r.wantChanged("delete of one that is gone", planner.Action{Mode: planner.Delete, Ref: m.Ref, UID: uid})
	if _, ok := r.snapshot(commit).Live[m.Ref]; ok {
		t.Error("Snapshot after the delete still shows it")
	}
}

func TestAPodIsPatchedOnceForTheGenerationItWasDecidedOn(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(deployment(1, "app:v1"))
	r.apply(commit)
	pod := r.podsOf(commit, 1)[0]
	patch := planner.Action{Mode: planner.StrategicPatch, Ref: podRef(pod), UID: pod.UID, Generation: pod.Generation, Body: map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"shade": "blue"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "app:v2"}}},
	}}
	r.do(patch)
	r.snapshot(commit)
	before := r.Requests().Total()
	r.wantChanged("the same patch again", patch)
	if sent := r.Requests().Total() - before; sent != 0 {
		t.Errorf("a pod of a later generation cost %d requests, want none", sent)
	}
	after := r.podsOf(commit, 1)[0]
	if after.UID != pod.UID || after.Spec.Containers[0].Image != "app:v2" || after.Labels["shade"] != "blue" || after.Labels["app"] != "web" {
		t.Errorf("pod after the patch: %s %s %v; want the same one with app:v2 and both labels", after.UID, after.Spec.Containers[0].Image, after.Labels)
	}
}

func TestASnapshotIsNeverOlderThanOurOwnWrites(t *testing.T) {
	const count = 500
	r := newRoom(t)
	commit := r.commit(deployment(count, "app:v1"))
	r.apply(commit)
	pods := r.podsOf(commit, count)
	started := time.Now()
	var group sync.WaitGroup
	slots := make(chan struct{}, 16)
	errs := make([]error, count)
	for i, pod := range pods {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = r.Do(t.Context(), planner.Action{Mode: planner.StrategicPatch, Ref: podRef(pod), UID: pod.UID, Generation: pod.Generation,
				Body: map[string]any{"metadata": map[string]any{"annotations": map[string]any{"seen": fmt.Sprint(i)}}}})
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	written := time.Since(started)
	snapshot := r.snapshot(commit)
	t.Logf("%d patches in %v, snapshot after %v", count, written, time.Since(started)-written)
	stale := 0
	for _, owned := range snapshot.Pods {
		for _, pod := range owned {
			if pod.Annotations["seen"] == "" {
				stale++
			}
		}
	}
	if stale > 0 {
		t.Errorf("Snapshot shows %d of %d pods as they were before our patch", stale, count)
	}
}

func TestADeletedPodIsShownAsEnding(t *testing.T) {
	r := newRoom(t)
	commit := r.commit(deployment(1, "app:v1"))
	r.apply(commit)
	pod := r.podsOf(commit, 1)[0]
	r.do(planner.Action{Mode: planner.Delete, Ref: podRef(pod), UID: pod.UID})
	for _, owned := range r.snapshot(commit).Pods {
		for _, shown := range owned {
			if shown.UID == pod.UID && shown.DeletionTimestamp == nil {
				t.Error("Snapshot shows the deleted pod as if it stayed")
			}
		}
	}
}

func TestWhatSituAppliesItCanAlsoTakeAway(t *testing.T) {
	r := newRoom(t)
	r.apply(r.commit("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {greeting: hello, extra: x}"))
	r.apply(r.commit(settings))
	stored, err := ground.Client().CoreV1().ConfigMaps(r.namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := stored.Data["extra"]; ok || stored.ManagedFields[0].Manager != "situ" {
		t.Errorf("data = %v, manager %q; want extra gone, and situ as the manager", stored.Data, stored.ManagedFields[0].Manager)
	}
}
