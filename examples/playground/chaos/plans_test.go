package chaos

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
)

// decide is planner.Decide with the judge looking on.
func (j *judge) decide(commit planner.Commit, snap planner.Snapshot) planner.Plan {
	plan := planner.Decide(commit, snap)
	if again := planner.Decide(commit, shuffled(snap)); !reflect.DeepEqual(plan, again) {
		j.accuse("promise 4: the same snapshot in another order gives another plan:\n%+v\n%+v", plan, again)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.takesUp(commit)
	for _, workload := range plan.Workloads {
		j.ledger.tell("plan of %.8s: %s %s %q, %d steps, %s", commit.ID, workload.State, workload.Verdict, workload.Text, len(workload.Steps), workload.Budget.Text)
		for _, pod := range workload.Pods {
			j.named[pod.UID] = true
			if pod.Verb == planner.Recreate {
				j.planned[pod.UID] = true
			}
		}
		j.takes(workload, snap)
	}
	return plan
}

// takesUp writes down what only a new pod can have of a commit.
func (j *judge) takesUp(commit planner.Commit) {
	j.seen = append(j.seen, commit.ID)
	if n := len(j.flags); n > 0 && j.flags[n-1].commit == commit.ID {
		return
	}
	for _, m := range commit.Manifests {
		var workload struct {
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object, &workload); err != nil {
			j.accuseLocked("manifest %s: %v", m.Ref, err)
		}
		j.flags = append(j.flags, flagged{commit.ID, flagOf(workload.Spec.Template.Spec.Containers)})
	}
}

// takes wants a plan to take no more pods down than the budget leaves, in the
// eyes of the very snapshot that it was made from.
func (j *judge) takes(plan planner.WorkloadPlan, snap planner.Snapshot) {
	pods := map[types.UID]*corev1.Pod{}
	serving := 0
	for _, list := range snap.Pods {
		for _, pod := range list {
			if pod.Labels["app"] != "web" {
				continue
			}
			pods[pod.UID] = pod
			if serves(pod) {
				serving++
			}
		}
	}
	taken := 0
	for _, step := range plan.Steps {
		for _, action := range step {
			if pod := pods[action.UID]; pod != nil && serves(pod) && !action.DryRun && takesDown(action, j.wish.manner) {
				taken++
			}
		}
	}
	short := max(0, desiredBy(snap.Live[plan.Ref].Object)-serving)
	if taken > 0 && short+taken > j.wish.budget() && !j.upset {
		j.accuseLocked("promise 2: the plan takes %d pods down while %d are unavailable, and the budget is %d", taken, short, j.wish.budget())
	}
	if taken > 0 && taken > j.wish.budget() {
		j.accuseLocked("promise 2: the plan takes %d pods down, and the budget is %d", taken, j.wish.budget())
	}
}

// takesDown says whether an action on a pod ends one of its containers.
func takesDown(action planner.Action, m manner) bool {
	if action.Mode == planner.Delete || action.Subresource == "resize" && m.restart {
		return true
	}
	body, _ := action.Body.(map[string]any)
	_, spec := body["spec"]
	return action.Mode == planner.StrategicPatch && action.Subresource == "" && spec
}

func desiredBy(host *unstructured.Unstructured) int {
	if host == nil {
		return 0
	}
	n, found, _ := unstructured.NestedInt64(host.Object, "spec", "replicas")
	if !found {
		n, _, _ = unstructured.NestedInt64(host.Object, "status", "desiredNumberScheduled")
	}
	return int(n)
}

// shuffled is a snapshot that says the same in another order.
func shuffled(snap planner.Snapshot) planner.Snapshot {
	snap.Pods = shuffledLists(snap.Pods)
	snap.Owned = shuffledLists(snap.Owned)
	snap.Pulls = slices.Clone(snap.Pulls)
	rand.Shuffle(len(snap.Pulls), func(a, b int) { snap.Pulls[a], snap.Pulls[b] = snap.Pulls[b], snap.Pulls[a] })
	return snap
}

func shuffledLists[T any](lists map[types.UID][]T) map[types.UID][]T {
	other := maps.Clone(lists)
	for key, list := range other {
		list = slices.Clone(list)
		rand.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		other[key] = list
	}
	return other
}
