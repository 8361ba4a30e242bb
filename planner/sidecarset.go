package planner

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A SidecarSet has no pods of its own: it gives containers to those of other
// workloads. Its policy and the binding are objects of the plan. What is planned
// here are the running pods that have its containers:
//
//	a new image           in place, within the set's own budget; readiness gates
//	                      and grace periods are the pod's workload's, not the set's
//	any other change      when the pod is made anew; an image of the same container
//	                      waits with it
//	no containers yet     when the pod is made anew; the plan names these pods
//
// No pod is ever recreated for a SidecarSet.

// sidecarSet is the host of a set's containers: the pods that have them.
type sidecarSet struct {
	*Sidecars
	injected []*corev1.Pod
	missing  []*corev1.Pod // that match and do not have them
}

func (s *sidecarSet) String() string                     { return "mutatingadmissionpolicy/" + s.Set }
func (s *sidecarSet) replicas() int                      { return len(s.injected) }
func (s *sidecarSet) pods() []*corev1.Pod                { return s.injected }
func (s *sidecarSet) leaving() int                       { return 0 }
func (s *sidecarSet) made(*corev1.Pod) made              { return made{} }
func (s *sidecarSet) recorded(string) made               { return made{} }
func (s *sidecarSet) before(a, b *podCase) bool          { return youngestFirst(a, b) }
func (s *sidecarSet) partition() *Amount                 { return nil }
func (s *sidecarSet) byOrdinal() bool                    { return false }
func (s *sidecarSet) maxUnavailable() *Amount            { return nil }
func (s *sidecarSet) floor() int                         { return 1 }
func (s *sidecarSet) surges() bool                       { return false }
func (s *sidecarSet) steps(r *rollout) []Step            { return steps(s.patches(r)) }
func (s *sidecarSet) keeps(pod *corev1.Pod) (why string) { return "" }

func newSidecarSet(m Manifest, snap Snapshot) *sidecarSet {
	s := &sidecarSet{Sidecars: m.Hosting.Sidecars}
	for _, pod := range active(snap.Matched[m.Ref]) {
		_, injected := s.recordOf(pod)
		switch {
		case PulledFor(pod) != "" || pod.Annotations[corev1.MirrorPodAnnotationKey] != "":
		case injected || s.fromKruise(pod):
			s.injected = append(s.injected, pod)
		default:
			s.missing = append(s.missing, pod)
		}
	}
	slices.SortFunc(s.missing, func(a, b *corev1.Pod) int { return strings.Compare(longName(a), longName(b)) })
	return s
}

// planSidecars plans the running pods of a set, once the other workloads are planned.
func planSidecars(commit Commit, m Manifest, snap Snapshot, pulls *pulls, plan *Plan) WorkloadPlan {
	w := WorkloadPlan{Ref: m.Named(), Origin: m.Origin, Host: m.Ref.String(), Warnings: m.Hosting.Warnings}
	live, exists := snap.Live[m.Ref]
	proof := snap.Proofs[m.Ref]
	if proof.Object == nil {
		refuseWorkload(&w, proof, false)
		return w
	}
	if exists && !goes(live) && strangersPolicy(m, live) {
		w.State, w.Verdict, w.Text = Failed, Refuse, strangersText(m)
		w.Reasons = []Reason{{Rule: "host", Text: w.Text}}
		return w
	}
	settings, _ := SettingsOf(m)
	s := newSidecarSet(m, snap)
	r := &rollout{commit: commit, manifest: m, settings: settings, live: live, proof: proof, now: snap.Now, want: s.Template, pulls: pulls}
	w.Host, w.Create = s.String(), !exists
	if exists {
		r.assessSidecars(s)
		r.schedule(s, newDisruptions(allBudgets(snap.Disruptions), r.cases))
		r.yield(s, plan.Workloads)
		w.Steps = r.sidecarSteps(s, snap)
	} else {
		r.waits = "its policy comes first"
	}
	r.report(&w, &plan.Wake)
	s.report(&w)
	if source := foreignSource(commit, live.Object); source != "" && !taken(commit, source) {
		w.keepOut(commit, live.Object)
	}
	return w
}

func allBudgets(of map[string][]*policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	var all []*policyv1.PodDisruptionBudget
	for _, namespace := range union(of, nil) {
		all = append(all, of[namespace]...)
	}
	return all
}

// assessSidecars asks for each pod what the set's change means to it.
func (r *rollout) assessSidecars(s *sidecarSet) {
	away := 0
	for _, pod := range s.injected {
		c := s.assess(pod)
		c.progress = s.progress(&c, r.now, r.settings.Deadline)
		if c.progress.broken || !c.progress.available && c.mark.Version > 0 {
			away++
		}
		if !c.current && c.kept == "" {
			c.kept = s.holds(pod, r.settings)
		}
		r.cases = append(r.cases, c)
	}
	order := r.settings
	order.Scatter = s.everyValue(order.Scatter)
	r.cases = order.scattered(inOrder(r.cases, order.Priority.over(s.before)))
	r.budget = Count(len(s.injected), len(s.injected)-away, r.settings.Partition, r.settings.MaxUnavailable, 1)
}

// everyValue puts each value that the pods have in place of a star.
func (s *sidecarSet) everyValue(terms []Scatter) []Scatter {
	var all []Scatter
	for _, term := range terms {
		if term.Value != "*" {
			all = append(all, term)
			continue
		}
		values := map[string]bool{}
		for _, pod := range s.injected {
			if value, has := pod.Labels[term.Key]; has {
				values[value] = true
			}
		}
		for _, value := range union(values, nil) {
			all = append(all, Scatter{Key: term.Key, Value: value})
		}
	}
	return all
}

// holds says why a pod stays at its image on purpose, "" if it does not.
func (s *sidecarSet) holds(pod *corev1.Pod, settings Settings) string {
	switch {
	case s.NotUpdate:
		return "kept by update type NotUpdate"
	case settings.Paused:
		return keptPaused
	case !matches(s.Among, pod.Labels):
		return "not selected for updates"
	}
	return ""
}

// sidecarSteps brings images to nodes first, as for any restart.
func (r *rollout) sidecarSteps(s *sidecarSet, snap Snapshot) []Step {
	pull := r.pullImages(snap)
	patches := s.patches(r)
	if len(patches) > 0 && r.current() == 0 {
		trial := patches[0]
		trial.Name, trial.DryRun, trial.Text = "trial", true, "ask whether pod/"+trial.Ref.Name+" may be patched"
		return steps(Step{trial}, patches, pull)
	}
	return steps(patches, pull)
}

func (s *sidecarSet) patches(r *rollout) Step {
	var step Step
	for _, c := range r.cases {
		switch {
		case c.turn != 1:
		case c.pulling != "":
			r.waitFor(c.pod, c.pulling)
		default:
			step = append(step, s.patch(r, c))
		}
	}
	return step
}

// report adds the pods that do not have the containers, and says how many wait
// for being made anew.
func (s *sidecarSet) report(w *WorkloadPlan) {
	later, names := 0, map[types.UID]string{}
	for _, pod := range s.injected {
		names[pod.UID] = longName(pod)
	}
	for i := range w.Pods {
		w.Pods[i].Name = names[w.Pods[i].UID] // of many namespaces
		if slices.ContainsFunc(w.Pods[i].Reasons, func(r Reason) bool { return r.Rule == nextPod }) {
			later++
		}
	}
	var missing []string
	for _, pod := range s.missing {
		name := longName(pod)
		w.Pods = append(w.Pods, PodPlan{Name: name, UID: pod.UID, State: Held, Text: s.lacks(pod)})
		missing = append(missing, name)
	}
	if later > 0 {
		w.Warnings = append(slices.Clip(w.Warnings), fmt.Sprintf("%d pods get what else changed when they are made anew", later))
	}
	if len(missing) == 0 {
		return
	}
	text := fmt.Sprintf("%d pods do not have the containers, and get them when they are made anew", len(missing))
	w.Warnings = append(slices.Clip(w.Warnings), text+": "+fewOf(missing))
	if w.State == Settled {
		w.State, w.Text = Held, text
	}
}

// lacks says why a pod that matches does not have the set's containers.
func (s *sidecarSet) lacks(pod *corev1.Pod) string {
	for _, c := range containersOf(s.Template) {
		if liveImage(pod, c.name) != "" {
			return "has a container " + c.name + " of its own, so it gets none of the set; give one of them another name"
		}
	}
	return "made without the containers of the set: it gets them when it is made anew"
}

// longName tells pods of several namespaces apart.
func longName(pod *corev1.Pod) string { return strings.TrimPrefix(pod.Namespace+"/"+pod.Name, "/") }

// fewOf names the first few.
func fewOf(names []string) string {
	const most = 5
	if len(names) > most {
		names = append(slices.Clip(names[:most]), "and others")
	}
	return strings.Join(names, ", ")
}
