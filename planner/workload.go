package planner

import (
	"cmp"
	"slices"
	"strings"
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
	renewing bool   // and may replace pods that nobody has seen yet
	stopped  string // why no further healthy pod is touched
	waits    string // for what the host waits
	held     string // why updates are off on purpose
	scaler   string // who owns the replicas, if it is not Git
	claims   string // what becomes of the first claim template that has changed
	reverted string // why the template of before is wanted again
	pulls    *pulls // of the whole plan

	promise *Amount // maxUnavailable as it counts
	surplus int     // available pods beyond those wanted, that a ReplicaSet is to lose
	numbers numbers // of a ReplicaSet's pods
}

func planWorkload(commit Commit, m Manifest, snap Snapshot, coming coming, pulls *pulls, wake *time.Time) WorkloadPlan {
	plan := WorkloadPlan{Ref: m.Named(), Origin: m.Origin, Host: m.Ref.String()}
	if m.Hosting != nil {
		plan.Warnings = slices.Concat(m.Hosting.Warnings, astray(commit, m, snap))
	}
	live, exists := snap.Live[m.Ref]
	proof := snap.Proofs[m.Ref]
	plan.Create = !exists
	if proof.Object == nil {
		refuseWorkload(&plan, proof, coming.brings(m))
		return plan
	}
	settings, _ := SettingsOf(m) // mistakes are problems of the commit already
	r := &rollout{commit: commit, manifest: m, settings: settings, live: live, proof: proof, now: snap.Now, want: templateOf(proof.Object.Object), pulls: pulls}
	r.scaler = snap.Autoscalers[m.Ref]
	r.minReady = time.Duration(numberAt(proof.Object.Object, 0, "spec", "minReadySeconds")) * time.Second
	if m.Kind == "Pod" {
		r.want = plain(barePod(proof.Object.Object))
	}
	if !exists || givenAway(m, live) {
		if h := newHandover(r, snap); h != nil {
			h.plan(&plan, snap, wake)
			return plan
		}
	}
	if h := newHandback(r, snap); !exists && h != nil {
		h.plan(&plan, snap, wake)
		return plan
	}
	if !exists {
		plan.State, plan.Text = Progressing, "to be created"
		plan.Steps = createSteps(r)
		return plan
	}
	if goes(live) && m.Kind != "Pod" {
		plan.State, plan.Text = Waiting, goingText
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
	claims := r.planClaims(&plan, snap)
	plan.Steps = steps(append(r.steps(h, snap), claims)...)
	plan.Warnings = slices.Concat(plan.Warnings, r.misnamed(), r.resizeWarnings())
	r.report(&plan, wake)
	r.ownChanges(&plan, h)
	if plan.State == Settled {
		plan.Text = r.claims // all that there is to say
	}
	return plan
}

// goes: somebody has deleted the object, and a finalizer keeps it for now. What
// is written to it would be lost with it.
func goes(live Live) bool { return live.Object != nil && live.Object.GetDeletionTimestamp() != nil }

const goingText = "it is being deleted, and made anew once it is gone"

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

// refuse: the workload stays away until a person has decided.
func (p *WorkloadPlan) refuse(rule, why string) {
	p.Create, p.State, p.Verdict, p.Text = false, Failed, Refuse, "refused: "+why
	p.Reasons = []Reason{{Rule: rule, Text: why}}
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
	a := assessor{want: r.want, settings: r.settings, served: snap.Served, allocatable: snap.Allocatable,
		amounts: resizable(r.want), history: historyOf(r.live, snap.Owned[r.uid()])}
	pods := h.pods()
	r.cases = make([]podCase, 0, len(pods))
	for _, pod := range pods {
		c := a.assess(pod, h.made(pod))
		c.progress = progressOf(pod, c.mark, snap.Now, r.minReady, r.settings.Deadline)
		r.awaitResize(&c)
		r.awaitHook(&c)
		c.drift = r.settings.Hooks.ownDrift(c.drift)
		if !c.current {
			c.kept = cmp.Or(r.settings.keeps(), h.keeps(pod))
		}
		r.specify(&c)
		r.cases = append(r.cases, c)
	}
	r.cases = r.settings.scattered(inOrder(r.cases, r.settings.Priority.over(h.before)))
	r.count(h)
	r.refuseAll()
	r.renewing = r.renews(&a)
	r.leaveRoom(h)
}

// inOrder sorts references, since a case is large. Names decide between pods that
// the host does not tell apart: the caches give them in no order.
func inOrder(cases []podCase, before func(a, b *podCase) bool) []podCase {
	order := make([]*podCase, len(cases))
	for i := range cases {
		order[i] = &cases[i]
	}
	slices.SortFunc(order, func(a, b *podCase) int {
		switch {
		case before(a, b):
			return -1
		case before(b, a):
			return 1
		}
		return strings.Compare(a.pod.Name, b.pod.Name)
	})
	sorted := make([]podCase, 0, len(cases))
	for _, c := range order {
		sorted = append(sorted, *c)
	}
	return sorted
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
		if name := unproven(c.pod, c.mark, r.now); name != "" && !c.progress.broken {
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
		if r.cases[i].current || r.cases[i].fresh {
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
