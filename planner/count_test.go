package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPartitionKeepsPodsAtTheOldTemplate(t *testing.T) {
	for _, tt := range []struct {
		replicas  int
		partition string
		kept      int
	}{
		{5, "99%", 4}, {4, "99%", 3}, {3, "99%", 2}, // below 100%, at least one is updated
		{1, "99%", 1}, {1, "50%", 1}, // but not if there is only one
		{3, "1%", 1}, {3, "50%", 2}, {10, "25%", 3}, // up
		{10, "0%", 0}, {10, "100%", 10}, {2, "100%", 2},
		{10, "12", 10}, {10, "3", 3}, {10, "0", 0}, {0, "50%", 0}, {0, "3", 0},
		{5, "1%", 1}, {20, "5%", 1}, {4, "2", 2}, {8, "2", 2},
	} {
		if got := Count(tt.replicas, tt.replicas, amount(t, tt.partition), nil, 1).Partition; got != tt.kept {
			t.Errorf("Count(%d replicas, partition %s): %d are kept, want %d", tt.replicas, tt.partition, got, tt.kept)
		}
	}
}

func TestMaxUnavailableRoundsDownButLeavesRoomForOne(t *testing.T) {
	for _, tt := range []struct {
		replicas       int
		maxUnavailable string
		floor, want    int
	}{
		{20, "60%", 1, 12}, {3, "20%", 1, 1}, {10, "25%", 1, 2}, {5, "30%", 1, 1}, {5, "20%", 1, 1}, {20, "5%", 1, 1}, {5, "5%", 1, 1},
		{4, "2", 1, 2}, {4, "0", 1, 0}, {4, "0%", 1, 0}, {4, "100%", 1, 4}, {1, "25%", 1, 1},
		{1, "25%", 0, 0}, {3, "25%", 0, 0}, {4, "25%", 0, 1}, {10, "25%", 0, 2}, {4, "0%", 0, 0}, // a stock Deployment's own rule
	} {
		if got := Count(tt.replicas, tt.replicas, nil, amount(t, tt.maxUnavailable), tt.floor).MaxUnavailable; got != tt.want {
			t.Errorf("Count(%d replicas, maxUnavailable %s, floor %d) = %d, want %d", tt.replicas, tt.maxUnavailable, tt.floor, got, tt.want)
		}
	}
}

func TestRoomIsWhatUnavailablePodsLeave(t *testing.T) {
	for _, tt := range []struct{ replicas, available, maxUnavailable, room int }{
		{10, 10, 3, 3}, {10, 8, 3, 1}, {10, 7, 3, 0}, {10, 2, 3, 0}, {4, 3, 1, 0}, {4, 6, 1, 1}, {0, 0, 1, 1},
	} {
		b := Count(tt.replicas, tt.available, nil, &Amount{Value: tt.maxUnavailable}, 1)
		if b.Room != tt.room {
			t.Errorf("Count(%d replicas, %d available, maxUnavailable %d): room for %d, want %d: %s",
				tt.replicas, tt.available, tt.maxUnavailable, b.Room, tt.room, b.Text)
		}
	}
}

func TestTheBudgetTellsItsArithmetic(t *testing.T) {
	got := Count(10, 9, amount(t, "25%"), amount(t, "20%"), 1).Text
	if want := "10 wanted, maxUnavailable 20% is 2, 1 unavailable: room for 1; partition 25% keeps 3"; got != want {
		t.Errorf("the budget says %q, want %q", got, want)
	}
}

func amount(t *testing.T, text string) *Amount {
	t.Helper()
	a, ok := ParseAmount(text)
	if !ok {
		t.Fatalf("%q is no amount", text)
	}
	return &a
}

// rolloutCase is one count of testdata/inplace.yaml.
type rolloutCase struct {
	ID, Kind, Description string
	Inputs, Expect        map[string]any
}

// countedOtherwise are the counts that situ makes otherwise, and why.
var countedOtherwise = map[string]struct{ got, why string }{
	"part-ds-01": {"keptOld:3", "one rule for every kind: a partition rounds up"},
	"mu-cs-03":   {"maxUnavailable:1", "at least one unless 0 was written; surge is the host's own, for pods that are recreated"},
	"mu-cs-05":   {"maxUnavailable:2", "one rule for every kind: maxUnavailable rounds down"},
	"mu-ds-01":   {"maxUnavailable:2", "as mu-cs-05"},
	"upd-cs-01":  {"updateNow:5", "pods that are unavailable and outdated already cost nothing"},
	"upd-cs-03":  {"updateNow:1", "the unavailable pod is free, and a blocked pod is skipped, not a wall"},
	"ord-cs-03":  {"order:[b a c]", "a pod that has none of the labels comes last, as one without a weight does"},
	"upd-st-05":  {"updateNow:[0]", "the broken pod itself is free, and gets the fix first"},
	"ord-ds-01":  {"list:[na nb]", "by node name, upwards; the order is free of a meaning here"},
}

// notCounted are the counts that are not made here, and why.
var notCounted = map[string]string{
	"upd-st-01": "reserved ordinals are refused, in planner/kruise: a stock StatefulSet has none",
	"ord-st-01": "as upd-st-01",
	"rev-st-01": "the StatefulSet's own controller makes missing pods; the stories lose pods below a partition",
	"upd-ss-07": "a story of its kind, in planner/kruise",
}

func TestCountsOfTheCaseFile(t *testing.T) {
	_, rollouts := readCases(t)
	for _, id := range slices.Concat(union(countedOtherwise, nil), union(notCounted, nil)) {
		if !slices.ContainsFunc(rollouts, func(c rolloutCase) bool { return c.ID == id }) {
			t.Errorf("%s is listed, but there is no such count", id)
		}
	}
	for _, c := range rollouts {
		if notCounted[c.ID] != "" {
			continue
		}
		got, want := countCase(t, c)
		other, differs := countedOtherwise[c.ID]
		if differs && got == want {
			t.Errorf("%s: counted as the case says; its difference %q is not needed any more", c.ID, other.why)
		}
		if differs {
			want = other.got
		}
		if got != want {
			t.Errorf("%s: %s: %s, want %s", c.ID, c.Description, got, want)
		}
	}
}

// countCase gives our count and the case's, in the same words.
func countCase(t *testing.T, c rolloutCase) (got, want string) {
	t.Helper()
	say := func(key string, value any) (string, string) {
		return fmt.Sprintf("%s:%v", key, value), fmt.Sprintf("%s:%v", key, c.Expect[key])
	}
	switch {
	case c.Expect["keptOld"] != nil:
		n := inputNumber(c, "replicas", "desired")
		return say("keptOld", Count(n, n, inputAmount(t, c, "partition"), nil, 1).Partition)
	case c.Expect["maxUnavailable"] != nil:
		n := inputNumber(c, "replicas", "desired")
		return say("maxUnavailable", Count(n, n, nil, inputAmount(t, c, "maxUnavailable"), 1).MaxUnavailable)
	case c.Inputs["matched"] != nil:
		n, updated := inputNumber(c, "matched"), inputNumber(c, "updated")
		b := Count(n, n-updated+inputNumber(c, "updatedReady"), inputAmount(t, c, "partition"), inputAmount(t, c, "maxUnavailable"), 1)
		if c.Inputs["updatedReady"] == nil {
			b = Count(n, n, inputAmount(t, c, "partition"), inputAmount(t, c, "maxUnavailable"), 1)
		}
		return say("updateNow", min(b.Room, n-updated-b.Partition))
	}
	plan := decideCount(t, c)
	var now, names []string
	for _, pod := range plan.Pods {
		last := pod.Name[strings.LastIndex(pod.Name, "-")+1:]
		names = append(names, last)
		if pod.Turn == 1 || c.Expect["candidates"] != nil && pod.Turn > 0 || c.Expect["list"] != nil && (pod.Done || pod.Turn > 0) {
			now = append(now, last)
		}
	}
	switch {
	case c.Expect["order"] != nil:
		return say("order", names)
	case c.Expect["list"] != nil:
		return say("list", now)
	case c.Expect["candidates"] != nil:
		return say("candidates", now)
	case c.Kind == "StatefulSet":
		return say("updateNow", now)
	}
	return say("updateNow", len(now))
}

func inputNumber(c rolloutCase, keys ...string) int {
	for _, key := range keys {
		if c.Inputs[key] != nil {
			return numberAt(c.Inputs, 0, key)
		}
	}
	return 0
}

func inputAmount(t *testing.T, c rolloutCase, key string) *Amount {
	t.Helper()
	if c.Inputs[key] == nil {
		return nil
	}
	return amount(t, fmt.Sprint(c.Inputs[key]))
}

// decideCount plans an image change of a workload with the case's pods.
func decideCount(t *testing.T, c rolloutCase) WorkloadPlan {
	t.Helper()
	pods, nodes := listAt(c.Inputs, "pods"), mapAt(c.Inputs, "nodes")
	replicas := max(inputNumber(c, "replicas"), len(pods))
	from := edited(workload(t, c.Kind), set1(int64(replicas), "spec", "replicas"))
	for key, annotation := range map[string]string{"partition": AnnotationPartition, "maxUnavailable": AnnotationMaxUnavailable} {
		if c.Inputs[key] != nil {
			from = edited(from, annotate(annotation, fmt.Sprint(c.Inputs[key])))
		}
	}
	to := edited(from, image(0, "app:v2"))
	from, to = asCloneSet(c, from), asCloneSet(c, to)
	snap := Assume([]Manifest{from}, []Manifest{to})
	snap.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	newest := Assume([]Manifest{to}, []Manifest{to})
	for owner := range snap.Pods {
		switch {
		case nodes != nil:
			snap.Pods[owner] = podsOnNodes(snap, newest, owner, nodes)
			snap.Live[from.Ref].Object.Object["status"] = map[string]any{"desiredNumberScheduled": int64(len(nodes))}
		case pods != nil:
			snap.Pods[owner] = snap.Pods[owner][:len(pods)]
		}
		for i, pod := range snap.Pods[owner] {
			if pods != nil {
				likeCase(pod, pods[i], snap.Now)
			}
			if slices.Contains(listAt(c.Inputs, "unready"), any(float64(i))) {
				makeUnready(pod)
			}
		}
	}
	return Decide(Commit{ID: "c2", Manifests: []Manifest{to}, Policy: Policy{Pull: PullNever}}, snap).Workloads[0]
}

// asCloneSet is a workload on its host, if the case's kind is that one.
func asCloneSet(c rolloutCase, m Manifest) Manifest {
	if c.Kind != "CloneSet" {
		return m
	}
	strategy := map[string]any{"type": "InPlaceIfPossible"}
	for _, field := range []string{"partition", "maxUnavailable"} {
		if value, ok := c.Inputs[field]; ok {
			strategy[field] = value
		}
	}
	if key, ok := c.Inputs["orderedKey"]; ok {
		strategy["priorityStrategy"] = map[string]any{"orderPriority": []any{map[string]any{"orderedKey": key}}}
	}
	m.APIVersion = "apps.kruise.io/v1alpha1"
	m = edited(m, set1(m.APIVersion, "apiVersion"), set1(strategy, "spec", "updateStrategy"))
	delete(mapAt(m.Object, "metadata"), "annotations")
	return Kinds.Host(m)[0]
}

func listAt(m map[string]any, key string) []any {
	list, _ := m[key].([]any)
	return list
}

// likeCase makes a pod what the case says of it: "old,unready", or {name, readyFor}.
func likeCase(pod *corev1.Pod, what any, now time.Time) {
	if text, ok := what.(string); ok {
		if strings.Contains(text, "unready") {
			makeUnready(pod)
		}
		return
	}
	fields := what.(map[string]any)
	pod.Name = "web-" + fmt.Sprint(fields["name"])
	if rank, ok := fields["rank"].(string); ok {
		pod.Labels["rank"] = rank
	}
	if fields["ready"] == false {
		makeUnready(pod)
	}
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].LastTransitionTime = metav1.NewTime(now.Add(-time.Duration(numberAt(fields, 0, "readyFor")) * time.Second))
	}
}

func podsOnNodes(snap, newest Snapshot, owner types.UID, nodes map[string]any) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, node := range union(nodes, nil) {
		pod := snap.Pods[owner][0].DeepCopy()
		if nodes[node] == "new" {
			pod = newest.Pods[owner][0].DeepCopy()
			snap.Owned[owner] = append(snap.Owned[owner], newest.Owned[owner]...)
		}
		pod.Name, pod.Spec.NodeName, pod.UID = "web-"+node, node, types.UID(strconv.Itoa(len(pods)))
		pods = append(pods, pod)
	}
	return pods
}
