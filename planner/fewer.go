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
	if at(r.live.Object.Object, "spec", "replicas") == nil {
		return
	}
	live := numberAt(r.live.Object.Object, 1, "spec", "replicas")
	wanted := numberAt(r.proof.Object.Object, 1, "spec", "replicas")
	if r.foreignReplicas() {
		wanted = live
	}
	if r.manifest.Kind == "StatefulSet" {
		r.tellOrdinals(plan, wanted)
	} else {
		r.tellFewer(plan, min(live-wanted, len(r.cases)-wanted), r.chosenFirst)
	}
	if live < wanted {
		plan.Reasons = append(plan.Reasons, Reason{Rule: "replicas", Field: "spec.replicas", From: strconv.Itoa(live), To: strconv.Itoa(wanted),
			Text: fmt.Sprintf("%d more are made", wanted-live)})
	}
}

// tellFewer marks the pods that go. What else a commit means for them does not matter.
func (r *rollout) tellFewer(plan *WorkloadPlan, n int, first func(n int) []*podCase) {
	r.tellGoing(plan, n, first, Reason{Rule: "replicas", Field: "spec.replicas", From: strconv.Itoa(len(r.cases)), To: strconv.Itoa(len(r.cases) - n),
		Text: fmt.Sprintf("%d go, and no others take their places", n)})
}

// tellTooMany is for pods that are handed over: those too many go after that.
func (r *rollout) tellTooMany(plan *WorkloadPlan, wanted int) {
	r.tellFewer(plan, len(r.cases)-wanted, r.chosenFirst)
	for i := range plan.Pods {
		if pod := &plan.Pods[i]; pod.Verb == Remove {
			pod.Turn = 2
		}
	}
}

func (r *rollout) tellGoing(plan *WorkloadPlan, n int, first func(n int) []*podCase, reason Reason) {
	if n <= 0 {
		return
	}
	goes := map[types.UID]bool{}
	for i := range r.cases {
		if c := &r.cases[i]; c.departs && len(goes) < n {
			goes[c.pod.UID] = true
		}
	}
	for _, c := range first(len(r.cases)) {
		if len(goes) < n {
			goes[c.pod.UID] = true
		}
	}
	turn := 1
	if r.blocked() && !r.begun() {
		turn = 2 // the images come first
	}
	plan.Verdict, plan.Reasons, plan.Containers = Keep, nil, nil
	for i := range plan.Pods {
		pod := &plan.Pods[i]
		if goes[pod.UID] {
			asked := slices.DeleteFunc(slices.Clone(pod.Reasons), func(r Reason) bool { return r.Rule != "specified-delete" })
			pod.Verb, pod.Turn, pod.State, pod.Reasons = Remove, turn, Progressing, append(asked, reason)
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

// tellOrdinals: a StatefulSet's controller deletes the pods whose ordinals are not
// wanted, and makes those that are.
func (r *rollout) tellOrdinals(plan *WorkloadPlan, replicas int) {
	live, wanted := r.live.Object.Object, r.proof.Object.Object
	keep := ordinalsOf(wanted, replicas)
	var going []*podCase
	for i := range r.cases {
		if c := &r.cases[i]; !keep[ordinalOf(c.pod.Name)] {
			going = append(going, c)
		}
	}
	all := func(int) []*podCase { return going }
	from, to := numberAt(live, 0, "spec", "ordinals", "start"), numberAt(wanted, 0, "spec", "ordinals", "start")
	if from == to && len(r.cases)-len(going) <= replicas && len(r.cases) > replicas {
		r.tellFewer(plan, len(going), all)
		return
	}
	reason := Reason{Rule: "replicas", Field: "spec.ordinals.start", Text: fmt.Sprintf("%d go, whose ordinals are not wanted any more", len(going))}
	if from != to {
		reason.From, reason.To = strconv.Itoa(from), strconv.Itoa(to)
	}
	r.tellGoing(plan, len(going), all, reason)
}

// ordinalsOf are the ordinals that a StatefulSet has, of either kind: OpenKruise's
// leaves out those that are reserved, and has as many pods all the same.
func ordinalsOf(object map[string]any, replicas int) map[int]bool {
	reserved := map[int]bool{}
	items, _ := at(object, "spec", "reserveOrdinals").([]any)
	for _, item := range items {
		low, high, isRange := strings.Cut(fmt.Sprint(item), "-")
		from, err := strconv.Atoi(low)
		to := from
		if isRange {
			to, _ = strconv.Atoi(high)
		}
		for n := from; err == nil && n <= min(to, from+maxReserved); n++ {
			reserved[n] = true
		}
	}
	wanted := map[int]bool{}
	for n := numberAt(object, 0, "spec", "ordinals", "start"); len(wanted) < replicas; n++ {
		if !reserved[n] {
			wanted[n] = true
		}
	}
	return wanted
}

// maxReserved bounds what one range can cost.
const maxReserved = 100_000

// chosenFirst orders pods as a ReplicaSet's controller does when it has too many
// (ActivePodsWithRanks in pkg/controller/controller_utils.go, Kubernetes 1.37), as
// far as that is settled by what they are now. OpenKruise's CloneSet does the same
// with those that nobody has named.
func (r *rollout) chosenFirst(n int) []*podCase {
	onNode := map[string]int{}
	some := make([]*podCase, 0, len(r.cases))
	for i := range r.cases {
		onNode[r.cases[i].pod.Spec.NodeName]++
		some = append(some, &r.cases[i])
	}
	slices.SortStableFunc(some, func(a, b *podCase) int {
		return cmp.Or(
			intOf(r.named(b))-intOf(r.named(a)),
			slices.Compare(class(a), class(b)),
			deletionCost(a.pod)-deletionCost(b.pod),
			onNode[b.pod.Spec.NodeName]-onNode[a.pod.Spec.NodeName],
			r.younger(a.pod, b.pod),
		)
	})
	return some[:min(n, len(some))]
}

// named: a followed CloneSet was told to delete this very pod.
func (r *rollout) named(c *podCase) bool {
	names, _ := at(r.proof.Object.Object, "spec", "scaleStrategy", "podsToDelete").([]any)
	return IsFollowed(r.manifest.Ref) && (c.pod.Labels[LabelDelete] == "true" || slices.Contains(names, any(c.pod.Name)))
}

func deletionCost(pod *corev1.Pod) int {
	cost, _ := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	return int(cost)
}

// younger is negative if a goes before b: ready for a shorter time, or restarted
// more often, or made later. Times count by their logarithm (KEP-2185); pods that
// are alike by it are told apart by their UIDs.
func (r *rollout) younger(a, b *corev1.Pod) int {
	byUID := strings.Compare(string(a.UID), string(b.UID))
	sinceA, readyA := readySince(a)
	if sinceB, readyB := readySince(b); readyA && readyB && !sinceA.Equal(sinceB) {
		return cmp.Or(r.octave(sinceA)-r.octave(sinceB), byUID)
	}
	if more := mostRestarts(b) - mostRestarts(a); more != 0 {
		return more
	}
	if madeA, madeB := a.CreationTimestamp.Time, b.CreationTimestamp.Time; !madeA.Equal(madeB) {
		return cmp.Or(r.octave(madeA)-r.octave(madeB), byUID)
	}
	return 0
}

func (r *rollout) octave(since time.Time) int {
	if age := r.now.Sub(since); age > 0 {
		return int(math.Log2(float64(age)))
	}
	return -1
}

// mostRestarts counts regular containers; native sidecars decide between equals.
func mostRestarts(pod *corev1.Pod) int {
	most := func(list []corev1.ContainerStatus) int {
		n := 0
		for i := range list {
			n = max(n, int(list[i].RestartCount))
		}
		return n
	}
	const beyond = 1 << 20
	return most(pod.Status.ContainerStatuses)*beyond + min(most(pod.Status.InitContainerStatuses), beyond-1)
}
