package planner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The number of pods is the workload's own matter: its controller makes and deletes
// them. What a plan tells of it is how many go without being replaced, which those
// are as far as it can be known, and what else is written to the workload itself.

// ownChanges tells what the plan means beside the pods' templates.
func (r *rollout) ownChanges(plan *WorkloadPlan, h host) {
	set, hosted := h.(*replicaSet)
	hosted = hosted && r.numbers.moved
	if hosted && r.held == "" {
		first := r.chosenFirst
		if r.marksThoseThatGo() {
			first = r.firstToGo
		}
		r.tellFewer(plan, set.surplus(r), first)
	}
	if len(plan.Steps) == 0 {
		return
	}
	if !hosted {
		r.tellReplicas(plan)
	}
	for _, field := range changedFields(r.live.Object.Object, r.proof.Object.Object) {
		if field != "spec.template" && field != "spec.replicas" {
			plan.Fields = append(plan.Fields, field)
		}
	}
}

// surplus is how many pods go for good. Pods that a surge has made take the places
// of those that are made anew.
func (s *replicaSet) surplus(r *rollout) int {
	anew := 0
	for i := range r.cases {
		if r.cases[i].verdict == Recreate {
			anew++
		}
	}
	return len(r.cases) - r.numbers.wanted - min(r.numbers.surge, anew, r.current())
}

// tellReplicas is for workloads whose controller is told the number at once.
func (r *rollout) tellReplicas(plan *WorkloadPlan) {
	if r.foreignReplicas() || at(r.live.Object.Object, "spec", "replicas") == nil {
		return
	}
	live, wanted := numberAt(r.live.Object.Object, 1, "spec", "replicas"), numberAt(r.proof.Object.Object, 1, "spec", "replicas")
	switch {
	case live < wanted:
		plan.Reasons = append(plan.Reasons, Reason{Rule: "replicas", Field: "spec.replicas", From: strconv.Itoa(live), To: strconv.Itoa(wanted),
			Text: fmt.Sprintf("%d more are made", wanted-live)})
	case live > wanted && r.manifest.Kind == "StatefulSet":
		r.tellFewer(plan, min(live-wanted, len(r.cases)-wanted), r.lastOrdinals)
	case live > wanted:
		r.tellFewer(plan, min(live-wanted, len(r.cases)-wanted), r.chosenFirst)
	}
}

// tellFewer marks the pods that go. What else a commit means for them does not matter.
func (r *rollout) tellFewer(plan *WorkloadPlan, n int, first func(n int) []*podCase) {
	if n <= 0 {
		return
	}
	reason := Reason{Rule: "replicas", Field: "spec.replicas", From: strconv.Itoa(len(r.cases)), To: strconv.Itoa(len(r.cases) - n),
		Text: fmt.Sprintf("%d go, and no others take their places", n)}
	goes := map[types.UID]bool{}
	for i := range r.cases {
		if c := &r.cases[i]; c.departs && len(goes) < n {
			goes[c.pod.UID] = true
		}
	}
	for _, c := range first(n - len(goes)) {
		goes[c.pod.UID] = true
	}
	plan.Verdict, plan.Reasons, plan.Containers = Keep, nil, nil
	for i := range plan.Pods {
		pod := &plan.Pods[i]
		if goes[pod.UID] {
			asked := slices.DeleteFunc(slices.Clone(pod.Reasons), func(r Reason) bool { return r.Rule != "specified-delete" })
			pod.Verb, pod.Turn, pod.State, pod.Reasons = Remove, 1, Progressing, append(asked, reason)
		}
		plan.Verdict = max(plan.Verdict, pod.Verb)
		for _, told := range pod.Reasons {
			if !slices.Contains(plan.Reasons, told) {
				plan.Reasons = append(plan.Reasons, told)
			}
		}
	}
	for i := range r.cases {
		if c := &r.cases[i]; !goes[c.pod.UID] {
			plan.Containers = append(plan.Containers, c.containers...)
		}
	}
	plan.Containers = slices.Compact(slices.Sorted(slices.Values(plan.Containers)))
	slices.SortStableFunc(plan.Reasons, func(a, b Reason) int { return intOf(a.Rule == reason.Rule) - intOf(b.Rule == reason.Rule) })
}

// lastOrdinals: a StatefulSet's controller deletes the highest ones.
func (r *rollout) lastOrdinals(n int) []*podCase {
	return r.firstOf(n, func(a, b *podCase) int { return ordinalOf(b.pod.Name) - ordinalOf(a.pod.Name) })
}

// chosenFirst orders pods as a ReplicaSet's controller does when it has too many
// (ActivePodsWithRanks in pkg/controller/controller_utils.go, Kubernetes 1.37), as
// far as that is settled by what they are now.
func (r *rollout) chosenFirst(n int) []*podCase {
	onNode := map[string]int{}
	for i := range r.cases {
		onNode[r.cases[i].pod.Spec.NodeName]++
	}
	return r.firstOf(n, func(a, b *podCase) int {
		return cmp.Or(
			slices.Compare(class(a), class(b)),
			deletionCost(a.pod)-deletionCost(b.pod),
			onNode[b.pod.Spec.NodeName]-onNode[a.pod.Spec.NodeName],
			r.ageClass(a)-r.ageClass(b),
			strings.Compare(string(a.pod.UID), string(b.pod.UID)),
		)
	})
}

func (r *rollout) firstOf(n int, order func(a, b *podCase) int) []*podCase {
	var some []*podCase
	for i := range r.cases {
		some = append(some, &r.cases[i])
	}
	slices.SortStableFunc(some, order)
	return some[:max(0, min(n, len(some)))]
}

func deletionCost(pod *corev1.Pod) int {
	cost, _ := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	return int(cost)
}

// ageClass is the logarithm of how long a pod is ready: pods of one class are as
// old as each other (KEP-2185).
func (r *rollout) ageClass(c *podCase) int {
	since, ready := readySince(c.pod)
	if !ready {
		since = c.pod.CreationTimestamp.Time
	}
	if age := r.now.Sub(since); age > 0 {
		return int(math.Log2(float64(age / time.Nanosecond)))
	}
	return -1
}
