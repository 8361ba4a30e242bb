package planner

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// A pod with more new images than may be pulled at a time gets them all: pulls
// that have ended, and stay as a proof, keep no other waiting.
func TestPullsThatHaveEndedKeepNoOtherWaiting(t *testing.T) {
	const images = maxPulls + 2
	from, to := manyContainers(t, images, "v1"), manyContainers(t, images, "v2")
	snap := Assume([]Manifest{from}, []Manifest{to})
	snap.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	snap.Images = nil
	for round, want := range []int{maxPulls, images - maxPulls, 0} {
		plan := Decide(Commit{ID: "c2", Manifests: []Manifest{to}}, snap)
		asked := namedActions(plan, 0, "pull")
		for _, action := range asked {
			snap.Pulls = append(snap.Pulls, endedPull(t, action))
		}
		if len(asked) != want {
			t.Fatalf("round %d asks for %d pulls, want %d: %s", round+1, len(asked), want, plan.Workloads[0].Text)
		}
	}
}

// Somebody else's pod with the label of a pull, be it of the template itself, is
// neither counted nor deleted.
func TestAPodThatOnlyHasTheLabelOfAPullIsLeftAlone(t *testing.T) {
	from, to := manyContainers(t, 1, "v1"), manyContainers(t, 1, "v2")
	snap := Assume([]Manifest{from}, []Manifest{to})
	uid := snap.Live[to.Ref].Object.GetUID()
	yes := true
	for _, owner := range []metav1.OwnerReference{{}, {UID: uid, Controller: &yes}, {UID: "other"}} {
		for _, name := range []string{"situ-pull-mine", "mine"} {
			snap.Pulls = append(snap.Pulls, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: "mine",
				Labels: map[string]string{LabelPull: string(uid)}, OwnerReferences: []metav1.OwnerReference{owner}}})
		}
	}
	snap.Pulls = append(snap.Pulls, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "shop", UID: "mine",
		Labels: map[string]string{LabelPull: string(uid)}, OwnerReferences: []metav1.OwnerReference{{UID: uid}}}})
	for _, wanted := range []Manifest{from, to} {
		for _, step := range Decide(Commit{ID: "c2", Manifests: []Manifest{wanted}}, snap).Workloads[0].Steps {
			for _, action := range step {
				if action.Mode == Delete && action.UID == "mine" {
					t.Errorf("somebody's pod %s is to be deleted: %s", action.Ref, action.Text)
				}
			}
		}
	}
}

// Workloads of a namespace with one image ask for one and the same pod on each
// node, so that none of them depends on another one's; whoever made it removes
// it, once none of them needs it. Other credentials are another matter.
func TestWorkloadsShareThePodThatBringsTheirImage(t *testing.T) {
	var from, to []Manifest
	for _, name := range []string{"a", "b", "other"} {
		before := edited(manyContainers(t, 1, "v1"), set1(name, "metadata", "name"))
		before.Name = name
		if name == "other" {
			before = edited(before, set1([]any{map[string]any{"name": "key"}}, "spec", "template", "spec", "imagePullSecrets"))
		}
		from, to = append(from, before), append(to, edited(before, image(0, "c0:v2")))
	}
	snap := Assume(from, to)
	snap.Now, snap.Images = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), nil
	first := Decide(Commit{ID: "c2", Manifests: to}, snap)
	a, b, other := namedActions(first, 0, "pull"), namedActions(first, 1, "pull"), namedActions(first, 2, "pull")
	if len(a) != 1 || len(b) != 1 || len(other) != 1 || a[0].Ref != b[0].Ref || a[0].Ref == other[0].Ref {
		t.Fatalf("pulls are %v, %v and %v; want the same for two, another one for the third", a, b, other)
	}
	snap.Pulls = append(snap.Pulls, endedPull(t, a[0]))
	for _, tt := range []struct {
		name      string
		manifests []Manifest // of the commit
		want      int        // removals by a, who made it
	}{
		{"both need it", to, 0},
		{"the maker needs it no more", []Manifest{from[0], to[1], to[2]}, 0},
		{"nobody needs it", []Manifest{from[0], from[1], to[2]}, 1},
		{"the maker is not in the commit", []Manifest{from[1], to[2]}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, m := range tt.manifests {
				snap.Proofs[m.Ref] = Proof{Object: &unstructured.Unstructured{Object: defaulted(m)}}
			}
			plan := Decide(Commit{ID: "c3", Manifests: tt.manifests}, snap)
			var got []Action
			for i := range plan.Workloads {
				if removals := namedActions(plan, i, "pulled"); len(removals) > 0 {
					got = append(got, removals...)
					if plan.Workloads[i].Name != "a" || plan.Workloads[i].State != Progressing {
						t.Errorf("%s, which is %s, removes the pull; want a, progressing", plan.Workloads[i].Ref, plan.Workloads[i].State)
					}
				}
			}
			if len(got) != tt.want {
				t.Errorf("%d removals, want %d: %v", len(got), tt.want, got)
			}
		})
	}
}

// A workload that leaves Git in the middle of an update stays in the cluster; what
// brought images for it does not.
func TestThePullOfAWorkloadThatLeftGitIsRemoved(t *testing.T) {
	stays, from := edited(manyContainers(t, 1, "v1"), set1("stays", "metadata", "name")), manyContainers(t, 1, "v1")
	stays.Name = "stays"
	to := edited(from, image(0, "c0:v2"))
	snap := Assume([]Manifest{stays, from}, []Manifest{stays, to})
	snap.Now, snap.Images = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), nil
	pulls := namedActions(Decide(Commit{ID: "c2", Source: "shop", Manifests: []Manifest{stays, to}}, snap), 1, "pull")
	if len(pulls) != 1 {
		t.Fatalf("pulls are %v, want one", pulls)
	}
	snap.Pulls = []*corev1.Pod{endedPull(t, pulls[0])}
	delete(snap.Live, to.Ref)
	elsewhere := edited(stays, set1("elsewhere", "metadata", "namespace"))
	elsewhere.Namespace = "elsewhere"
	for _, tt := range []struct {
		name   string
		commit Commit
		want   int
	}{
		{"of this source", Commit{Source: "shop", Manifests: []Manifest{stays}}, 1},
		{"of another source", Commit{Source: "other", Manifests: []Manifest{stays}}, 0},
		{"a file that may have it cannot be read", Commit{Source: "shop", Manifests: []Manifest{stays}, Problems: []Problem{{Text: "broken"}}}, 0},
		{"in a namespace that is not looked at", Commit{Source: "shop", Manifests: []Manifest{elsewhere}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := Decide(tt.commit, snap)
			if got := namedActions(plan, 0, "pulled"); len(got) != tt.want {
				t.Errorf("%d removals, want %d: %v", len(got), tt.want, got)
			}
		})
	}
}

// What another source has made serves as well, and is that one's to remove.
func TestAnotherSourcesPullIsUsedAndLeftAlone(t *testing.T) {
	from, to := manyContainers(t, 1, "v1"), manyContainers(t, 1, "v2")
	snap := Assume([]Manifest{from}, []Manifest{to})
	snap.Now, snap.Images = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), nil
	action := namedActions(Decide(Commit{ID: "c2", Manifests: []Manifest{to}}, snap), 0, "pull")[0]
	pull := endedPull(t, action)
	pull.Labels[LabelPull], pull.OwnerReferences[0].UID = "elsewhere", "elsewhere"
	snap.Pulls = []*corev1.Pod{pull}
	plan := Decide(Commit{ID: "c2", Manifests: []Manifest{to}}, snap)
	if plan.Workloads[0].Pods[0].Text != "" || len(namedActions(plan, 0, "pull")) > 0 {
		t.Errorf("the pod waits for %q though the image is there", plan.Workloads[0].Pods[0].Text)
	}
	snap.Proofs[from.Ref] = Proof{Object: &unstructured.Unstructured{Object: defaulted(from)}}
	plan = Decide(Commit{ID: "c3", Manifests: []Manifest{from}}, snap)
	if w := plan.Workloads[0]; len(w.Steps)+len(w.Cleanup) > 0 {
		t.Errorf("another source's pod is to be removed: %v %v", w.Steps, w.Cleanup)
	}
}

// Where the server takes no pod that pulls, on whatever node, none is asked for
// again: nothing is stopped, or the pods go without, as the person who runs situ
// wants it. Both tell the server's words.
func TestARefusedPullStopsTheRolloutOrIsGoneWithout(t *testing.T) {
	from, to := manyContainers(t, 1, "v1"), manyContainers(t, 1, "v2")
	snap := Assume([]Manifest{from}, []Manifest{to})
	snap.Now, snap.Images = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), nil
	asked := namedActions(Decide(Commit{ID: "c2", Manifests: []Manifest{to}}, snap), 0, "pull")[0].Ref
	asked.Name = onAnyNode(asked).Name + "-other"
	snap.Refused = map[Ref]string{asked: "exceeded quota: few"}
	for _, tt := range []struct {
		policy PullPolicy
		state  State
		told   bool
	}{
		{"", Failed, true},
		{PullAlways, Failed, true},
		{PullIfAllowed, Progressing, true},
		{PullNever, Progressing, false},
	} {
		t.Run(string(tt.policy), func(t *testing.T) {
			plan := Decide(Commit{ID: "c2", Manifests: []Manifest{to}, Policy: Policy{Pull: tt.policy}}, snap)
			w := plan.Workloads[0]
			if w.State != tt.state || len(w.Steps) > 0 != (tt.state == Progressing) || len(namedActions(plan, 0, "pull")) > 0 {
				t.Errorf("%s: %s with %d steps, want %s", w.State, w.Text, len(w.Steps), tt.state)
			}
			if told := strings.Contains(planText(t, plan), "exceeded quota: few"); told != tt.told {
				t.Errorf("the plan tells the refusal: %t, want %t", told, tt.told)
			}
		})
	}
}

// namedActions are the actions of that name in the plan of the i-th workload.
func namedActions(plan Plan, i int, name string) []Action {
	var found []Action
	for _, step := range plan.Workloads[i].Steps {
		for _, action := range step {
			if action.Name == name {
				found = append(found, action)
			}
		}
	}
	return found
}

func manyContainers(t *testing.T, n int, tag string) Manifest {
	t.Helper()
	var containers strings.Builder
	for i := range n {
		fmt.Fprintf(&containers, "      - {name: c%d, image: 'c%d:%s'}\n", i, i, tag)
	}
	return manifest(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
`+containers.String())
}

// endedPull is the pod of an action once the kubelet has its image.
func endedPull(t *testing.T, action Action) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	object := (&unstructured.Unstructured{Object: action.Body.(map[string]any)}).DeepCopy()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod); err != nil {
		t.Fatal(err)
	}
	pod.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "pull", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "StartError"}}}}
	return pod
}

// What the kubelet says of a failed pull names the cause last.
func TestACutTextKeepsItsBeginningAndItsEnd(t *testing.T) {
	text := clip("image app:v2 cannot be pulled: " + strings.Repeat("é", 400) + " 401 Unauthorized")
	if len(text) > 330 || !strings.HasPrefix(text, "image app:v2") || !strings.HasSuffix(text, "401 Unauthorized") || !utf8.ValidString(text) {
		t.Errorf("clip gives %q (%d bytes)", text, len(text))
	}
}
