package planner

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// host is the object in the cluster that carries a workload's pods. It knows
// where its pods' templates are recorded, and how to bring a pod to another one
// without its controller recreating what situ has patched.
type host interface {
	String() string               // "deployment/web through replicaset/web-5d8f"
	replicas() int                // pods wanted
	pods() []*corev1.Pod          // active ones
	leaving() int                 // how many of them its controller is about to remove
	made(pod *corev1.Pod) made    // the template that a pod was made from
	recorded(label string) made   // the template behind a revision label
	before(a, b *podCase) bool    // the order of updates
	keeps(pod *corev1.Pod) string // why this pod is kept as it is, "" if it is not
	partition() *Amount           // the workload's own, nil if its kind has none
	byOrdinal() bool              // the partition is an ordinal, and keeps knows it
	maxUnavailable() *Amount      // the workload's own promise
	floor() int                   // the least that a percentage of it resolves to
	surges() bool                 // a recreated pod's successor may come first
	steps(r *rollout) []Step      // what to do now; it may say what it waits for
}

// rollout is one workload's share of a plan while it is being made.
type rollout struct {
	commit   Commit
	manifest Manifest
	settings Settings
	live     Live
	proof    Proof
	want     Template
	now      time.Time
	wake     time.Time // look again then
	minReady time.Duration
	cases    []podCase // in the order of updates
	budget   Budget
	native   bool   // the workload's own controller does it all
	stopped  string // why no further healthy pod is touched
	waits    string // for what the host waits
	held     string // why updates are off on purpose
	scaler   string // who owns the replicas, if it is not Git
	reverted string // why the template of before is wanted again
	cleanup  Step
}

func planWorkload(commit Commit, m Manifest, snap Snapshot, coming coming, wake *time.Time) WorkloadPlan {
	plan := WorkloadPlan{Ref: m.Ref, Origin: m.Origin, Host: m.Ref.String()}
	live, exists := snap.Live[m.Ref]
	proof := snap.Proofs[m.Ref]
	plan.Create = !exists
	if proof.Object == nil {
		refuseWorkload(&plan, proof, coming.brings(m))
		return plan
	}
	settings, _ := SettingsOf(m) // mistakes are problems of the commit already
	r := &rollout{commit: commit, manifest: m, settings: settings, live: live, proof: proof, now: snap.Now, want: templateOf(proof.Object.Object)}
	r.scaler = snap.Autoscalers[m.Ref]
	r.minReady = time.Duration(numberAt(proof.Object.Object, 0, "spec", "minReadySeconds")) * time.Second
	if m.Kind == "Pod" {
		r.want = plain(barePod(proof.Object.Object))
	}
	if !exists {
		plan.State, plan.Text = Progressing, "to be created"
		plan.Steps = createSteps(r)
		return plan
	}
	h := hostOf(r, snap)
	if pod, until := r.unsure(h); pod != "" {
		plan.Host, r.waits = h.String(), "pod "+pod+": what it was made from is not seen yet"
		r.wakeAt(until)
		r.report(&plan, wake)
		return plan
	}
	r.takeBack(h)
	r.assess(h, snap)
	r.schedule(h, newDisruptions(snap.Disruptions[m.Namespace], r.cases))
	plan.Host = h.String()
	plan.Steps = r.steps(h, snap)
	plan.Cleanup = r.cleanup
	r.report(&plan, wake)
	return plan
}

func refuseWorkload(plan *WorkloadPlan, proof Proof, comes bool) {
	plan.Text = proof.Refusal
	if proof.Missing {
		plan.State = Waiting
		if !comes {
			plan.State = Failed
		}
		return
	}
	plan.State, plan.Verdict = Failed, Refuse
	plan.Reasons = []Reason{{Rule: "server", Text: proof.Refusal}}
}

func hostOf(r *rollout, snap Snapshot) host {
	switch r.manifest.Kind {
	case "Deployment":
		return newDeployment(r, snap)
	case "StatefulSet":
		return newStatefulSet(r, snap)
	case "DaemonSet":
		return newDaemonSet(r, snap)
	case "ReplicaSet":
		return newReplicaSet(r, snap)
	default:
		return newBarePod(r, snap)
	}
}

// assess asks for each pod, and then for the workload as a whole.
func (r *rollout) assess(h host, snap Snapshot) {
	a := assessor{want: r.want, settings: r.settings, served: snap.Served, allocatable: snap.Allocatable}
	pods := h.pods()
	r.cases = make([]podCase, 0, len(pods))
	for _, pod := range pods {
		c := a.assess(pod, h.made(pod))
		c.progress = progressOf(pod, c.mark, snap.Now, r.minReady, r.settings.Deadline)
		r.awaitResize(&c)
		if !c.current {
			c.kept = h.keeps(pod)
		}
		r.cases = append(r.cases, c)
	}
	r.cases = inOrder(r.cases, h.before)
	r.count(h)
	r.refuseAll()
	r.leaveRoom(h)
}

// inOrder sorts references, since a case is large.
func inOrder(cases []podCase, before func(a, b *podCase) bool) []podCase {
	order := make([]*podCase, len(cases))
	for i := range cases {
		order[i] = &cases[i]
	}
	slices.SortStableFunc(order, func(a, b *podCase) int {
		switch {
		case before(a, b):
			return -1
		case before(b, a):
			return 1
		}
		return 0
	})
	sorted := make([]podCase, 0, len(cases))
	for _, c := range order {
		sorted = append(sorted, *c)
	}
	return sorted
}

func (r *rollout) count(h host) {
	available := max(0, r.available()-h.leaving())
	promise := r.settings.MaxUnavailable
	if promise == nil {
		promise = h.maxUnavailable()
	}
	partition := r.settings.Partition
	if partition == nil {
		partition = h.partition()
	}
	defer func() {
		if r.scaler != "" {
			r.budget.Text += "; replicas are left to " + r.scaler
		}
	}()
	r.budget = Count(h.replicas(), available, partition, promise, h.floor())
	if r.budget.MaxUnavailable == 0 && r.settings.Explicit && r.settings.MaxUnavailable == nil {
		r.budget = Count(h.replicas(), available, partition, &Amount{Value: 1}, h.floor())
		r.budget.Text += " (the update type was asked for, so one pod at a time may restart)"
	}
}

// refuseAll keeps every pod as it is when one of them must not be changed: a
// refusal is known before any pod is touched.
func (r *rollout) refuseAll() {
	for i := range r.cases {
		if r.cases[i].verdict != Refuse {
			continue
		}
		r.held = "refused"
		return
	}
}

// leaveRoom is the floor rule: a restart in place makes a pod unavailable for a
// moment. Where the workload promises that none ever is, its successor comes
// first instead, unless the update type was written down by a person. A pod that
// is unavailable already has nothing to lose.
func (r *rollout) leaveRoom(h host) {
	if r.budget.MaxUnavailable > 0 || !h.surges() || !slices.ContainsFunc(r.cases, func(c podCase) bool {
		return c.verdict == Restart && c.progress.available
	}) {
		return
	}
	for i := range r.cases {
		if !r.cases[i].current {
			r.cases[i].recreate(noRoom)
		}
	}
}

var noRoom = Reason{
	Rule: "no-room", Field: "spec.strategy.rollingUpdate.maxUnavailable",
	Text: "maxUnavailable leaves no room for a restart in place, so a new pod comes first; annotation " +
		AnnotationUpdate + ": " + string(InPlaceIfPossible) + " restarts in place all the same",
}

// all reports whether there are pods to update and they share one verdict.
func (r *rollout) all(v Verdict) bool {
	outdated := 0
	for i := range r.cases {
		if r.cases[i].current || r.cases[i].kept != "" {
			continue
		}
		outdated++
		if r.cases[i].verdict != v {
			return false
		}
	}
	return outdated > 0
}

// schedule gives each outdated pod its turn.
//
//	kept by partition, pause or refusal   never by this commit
//	its controller replaces it            later, as the controller sees fit
//	nothing becomes unavailable           now
//	unavailable already                   now, it costs nothing
//	a PodDisruptionBudget forbids it      later, and the next pod is asked for
//	room in the budget                    now
//	else                                  in a later turn
func (r *rollout) schedule(h host, allowed *disruptions) {
	counted := !h.byOrdinal() && r.keepPartition()
	r.native = !counted && r.all(Recreate)
	r.stopped = r.firstBroken()
	room, later := r.budget.Room, 0
	for i := range r.cases {
		c := &r.cases[i]
		if c.current || c.kept != "" {
			continue
		}
		if r.held != "" {
			c.kept = r.held
			continue
		}
		switch {
		case c.foreign:
			c.turn = 2
		case c.verdict < Restart, !c.progress.available:
			c.turn = 1
		case room > 0 && r.stopped == "" && c.mayRestart(allowed):
			c.turn = 1
			room--
		default:
			c.turn = 2 + later/max(1, r.budget.MaxUnavailable)
			later++
		}
	}
}

// mayRestart asks the PodDisruptionBudgets.
func (c *podCase) mayRestart(allowed *disruptions) bool {
	c.blocked = allowed.take(c.pod)
	return c.blocked == ""
}

// keepPartition keeps the last pods of the order at the old template. A host
// that counts by ordinal has said so in keeps. It reports whether it kept any.
func (r *rollout) keepPartition() bool {
	if r.budget.Partition == 0 {
		return false
	}
	kept := false
	updatable := r.budget.Replicas - r.budget.Partition
	for i := range r.cases {
		if r.cases[i].current {
			updatable--
		}
	}
	for i := range r.cases {
		c := &r.cases[i]
		if c.current || c.kept != "" {
			continue
		}
		if updatable <= 0 {
			c.kept, kept = keptByPartition, true
		}
		updatable--
	}
	return kept
}

const keptByPartition = "kept by partition"

// firstBroken names an updated pod that will not come up: it stops the rollout.
func (r *rollout) firstBroken() string {
	for i := range r.cases {
		if c := &r.cases[i]; c.progress.broken && (c.current || c.mark.Partial) {
			return "pod " + c.pod.Name + ": " + c.progress.text
		}
	}
	return ""
}

// podStep are the actions on pods whose turn is now: patched, or deleted so that
// their controller makes them anew.
func (r *rollout) podStep(patch func(podCase) Action) Step {
	step := r.inPlaceStep(patch)
	for _, c := range r.cases {
		if c.turn == 1 && c.verdict == Recreate {
			step = append(step, deletePod(c))
		}
	}
	return step
}

// inPlaceStep leaves pods that must be recreated to their controller.
func (r *rollout) inPlaceStep(patch func(podCase) Action) Step {
	var step Step
	for _, c := range r.cases {
		if c.turn != 1 || c.verdict >= Recreate {
			continue
		}
		if action, ok := r.next(c, patch); ok {
			step = append(step, action)
		}
	}
	return step
}

// awaitResize takes a pod for unavailable from the moment that a resize which
// restarts a container was sent: it will be, though it does not show yet.
func (r *rollout) awaitResize(c *podCase) {
	if !c.resizes || c.verdict != Restart || !resizeSent(c.pod, r.want) {
		return
	}
	if done, text := resizeDone(c.pod, r.want); !done {
		c.progress.available, c.progress.text = false, text
	}
}

// steps are what to do now: first what makes the host's own steps safe.
func (r *rollout) steps(h host, snap Snapshot) []Step {
	pull := r.pullImages(snap)
	if back := r.revertStep(h); back != nil {
		return []Step{back}
	}
	if r.blocked() && !r.begun() {
		r.waits = r.firstPull()
		return steps(pull, r.openStep())
	}
	own := h.steps(r)
	if len(own) > 0 && !r.begun() {
		own = append(steps(r.trial()), own...)
	}
	return steps(append(own, pull, r.openStep(), r.forgetStep())...)
}

// trial asks the server, before anything is changed, whether it would let a pod
// be patched so: an admission policy may know better.
func (r *rollout) trial() Step {
	for _, c := range r.cases {
		if c.turn > 0 && len(c.patched) > 0 && c.verdict == Restart {
			action := patchPod(c, r.want, nil, r.mark(c, revision(r.want)))
			action.Name, action.DryRun, action.Text = "trial", true, "ask whether pod/"+c.pod.Name+" may be patched"
			return Step{action}
		}
	}
	return nil
}

// mark is what a patch decided now leaves on the pod.
func (r *rollout) mark(c podCase, revision string) Mark {
	mark := markFor(c, r.commit.ID, revision)
	mark.At = r.now.UTC().Truncate(time.Second)
	return mark
}

// available counts pods that serve now.
func (r *rollout) available() int {
	n := 0
	for i := range r.cases {
		if r.cases[i].progress.available {
			n++
		}
	}
	return n
}

// restarting: a pod was patched and its container has not gone down yet. Its
// controller still takes it for available, so it must not act on others now.
func (r *rollout) restarting() bool {
	for i := range r.cases {
		c := &r.cases[i]
		if name := unproven(c.pod, c.mark); name != "" && !c.progress.broken {
			r.waitFor(c.pod, "container "+name+" has not restarted yet")
			return true
		}
	}
	return false
}

// inPlacePending reports whether pods are still to be patched, or deleted, by situ.
func (r *rollout) inPlacePending() bool {
	for i := range r.cases {
		if c := &r.cases[i]; c.turn > 0 && !c.foreign {
			return true
		}
	}
	return false
}

// current counts pods that have the wanted template.
func (r *rollout) current() int {
	n := 0
	for i := range r.cases {
		if r.cases[i].current {
			n++
		}
	}
	return n
}

// pending counts pods that this commit still has to bring to the template.
func (r *rollout) pending() int {
	n := 0
	for i := range r.cases {
		if r.cases[i].turn > 0 {
			n++
		}
	}
	return n
}
