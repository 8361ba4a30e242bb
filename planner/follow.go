package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A followed workload is one that OpenKruise's own controller runs, since the
// cluster serves its kind. situ applies the object, predicts what that controller
// does with each pod, and follows the object's status and its pods until they are
// settled or have failed. It writes the object and nothing else: two controllers
// over the same pods would fight.

const groupKruise = "apps.kruise.io"

var followedKinds = []string{"CloneSet", "StatefulSet", "DaemonSet"}

// IsFollowed reports whether objects of this kind hold pods that OpenKruise's
// controllers run wherever the kind is served.
func IsFollowed(r Ref) bool {
	return r.Group() == groupKruise && slices.Contains(followedKinds, r.Kind)
}

// follower is one followed workload while its plan is made.
type follower struct {
	*rollout
	wish      wish
	revisions []*unstructured.Unstructured
	acting    bool // the object is not as Git has it yet
}

func planFollowed(commit Commit, m Manifest, snap Snapshot, coming coming, wake *time.Time) WorkloadPlan {
	plan := WorkloadPlan{Ref: m.Ref, Origin: m.Origin, Host: "run by OpenKruise", Warnings: unheard(m)}
	live, exists := snap.Live[m.Ref]
	proof := snap.Proofs[m.Ref]
	plan.Create = !exists
	if proof.Object == nil {
		refuseWorkload(&plan, proof, coming.brings(m))
		return plan
	}
	if why := hostedAlready(m.Ref, snap); why.Text != "" {
		plan.Create, plan.State, plan.Verdict, plan.Text, plan.Reasons = false, Failed, Refuse, "refused: "+why.Text, []Reason{why}
		return plan
	}
	settings, _ := SettingsOf(m)
	r := &rollout{commit: commit, manifest: m, settings: settings, live: live, proof: proof, now: snap.Now, want: literalTemplate(proof.Object.Object)}
	r.scaler, r.native = snap.Autoscalers[m.Ref], true
	if !exists {
		plan.State, plan.Text = Progressing, "to be created"
		plan.Steps = createSteps(r)
		return plan
	}
	if goes(live) {
		plan.State, plan.Text = Waiting, goingText
		return plan
	}
	f := &follower{rollout: r, wish: wishOf(m.Ref, proof.Object.Object), revisions: revisionsIn(snap.Owned[r.uid()]), acting: r.differs()}
	r.minReady = f.wish.minReady
	f.assess(active(snap.Pods[r.uid()]))
	f.schedule()
	f.follow()
	if f.acting && !f.refused() {
		plan.Steps = applyObject(commit, m, live, proof, "apply ")
	}
	r.report(&plan, wake)
	r.ownChanges(&plan, nil)
	return plan
}

// unheard are warnings about annotations that only a rollout of situ's own obeys.
func unheard(m Manifest) []string {
	var warnings []string
	for _, key := range union(mapAt(m.Object, "metadata", "annotations"), nil) {
		if slices.Contains(settable, key) && key != AnnotationDeadline {
			warnings = append(warnings, "annotation "+key+" has no effect where OpenKruise runs the pods: write it into spec.updateStrategy")
		}
	}
	return warnings
}

// hostedAlready: situ hosted the workload before OpenKruise came, and both would
// make its pods.
func hostedAlready(m Ref, snap Snapshot) Reason {
	host := snap.Namesakes[hostRef(m)].Object
	if host == nil || !strings.HasSuffix(host.GetAnnotations()[AnnotationHosts], "/"+m.Kind) {
		return Reason{}
	}
	short := strings.ToLower(host.GetKind()) + "/" + host.GetName()
	return Reason{Rule: "hosted", Text: fmt.Sprintf("%s has its pods, made by situ before OpenKruise came, and OpenKruise would make as many again: "+
		"delete %s, which ends its pods, and OpenKruise makes them anew; or remove OpenKruise to go on as before", short, short)}
}

// hostRef is the stock object that hosts a workload of OpenKruise.
func hostRef(m Ref) Ref {
	if m.Kind == "CloneSet" {
		return replicaSetRef(m)
	}
	return Ref{APIVersion: "apps/v1", Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
}

// replicaSetRef is the ReplicaSet that has a workload's name.
func replicaSetRef(m Ref) Ref {
	return Ref{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: m.Namespace, Name: m.Name}
}

func revisionsIn(owned []*unstructured.Unstructured) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, o := range owned {
		if o.GetKind() == "ControllerRevision" {
			found = append(found, o)
		}
	}
	return found
}

// shortHash is the part of a revision's name that all of OpenKruise's kinds put
// on pods, some of them with the name before it.
func shortHash(name string) string { return name[strings.LastIndex(name, "-")+1:] }

// made finds the template of a pod among the revisions of its workload.
func (f *follower) made(pod *corev1.Pod) (Template, bool) {
	hash := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	for _, o := range f.revisions {
		if hash != "" && shortHash(o.GetName()) == shortHash(hash) {
			return literalTemplate(mapAt(o.Object, "data")), true
		}
	}
	return nil, false
}

func (f *follower) assess(pods []*corev1.Pod) {
	for _, pod := range pods {
		c := podCase{pod: pod, progress: progressOf(pod, Mark{}, f.now, f.minReady, f.settings.Deadline)}
		if state := stageOf(pod); state != "" && state != "Normal" && !c.progress.broken {
			c.progress = progress{text: "OpenKruise has it in state " + state, wake: c.progress.wake}
		}
		f.judge(&c)
		f.cases = append(f.cases, c)
	}
	f.cases = inOrder(f.cases, f.before)
	f.budget = f.wish.count(f.replicas(), f.available())
	if f.scaler != "" {
		f.budget.Text += "; replicas are left to " + f.scaler
	}
}

func (f *follower) replicas() int {
	switch {
	case f.manifest.Kind == "DaemonSet":
		return numberAt(f.live.Object.Object, 0, "status", "desiredNumberScheduled")
	case f.foreignReplicas():
		return numberAt(f.live.Object.Object, 1, "spec", "replicas")
	}
	return numberAt(f.proof.Object.Object, 1, "spec", "replicas")
}

// judge says what OpenKruise does with one pod.
func (f *follower) judge(c *podCase) {
	from, known := f.made(c.pod)
	revision := textAt(f.live.Object.Object, "status", f.counts().revision)
	newest := !f.acting && observed(f.live.Object) && revision != "" && shortHash(revision) == shortHash(c.pod.Labels[appsv1.ControllerRevisionHashLabelKey])
	switch {
	case known && same(from, f.want), !known && newest:
		c.current = true
		return
	case !known:
		c.recreate(Reason{Rule: "kruise-unknown", Text: "OpenKruise does not know the template that it was made from any more"})
	default:
		f.compare(c, from)
	}
	f.obey(c)
}

func (f *follower) compare(c *podCase, from Template) {
	c.verdict = Metadata
	for _, change := range literalChanges(from, f.want) {
		rule := kruiseRule(change, f.want)
		c.reasons = append(c.reasons, reason(rule, change))
		c.verdict = max(c.verdict, rule.Verdict)
		switch rule.ID {
		case "kruise-image":
			name, _ := change.Container()
			c.containers = append(c.containers, name)
		case "kruise-env-from-metadata":
			c.containers = append(c.containers, regularReaders(change, f.want)...)
		}
	}
	slices.SortStableFunc(c.reasons, func(a, b Reason) int { return int(kruiseVerdict(b.Rule)) - int(kruiseVerdict(a.Rule)) })
	c.containers = slices.Compact(slices.Sorted(slices.Values(c.containers)))
	if c.verdict == Recreate {
		c.containers = nil
	}
}

// obey applies the update type.
func (f *follower) obey(c *podCase) {
	switch {
	case f.wish.update == ReCreate:
		c.verdict, c.containers = Recreate, nil
		c.reasons = []Reason{{Rule: "update-type", Text: "the update type is " + f.wish.written + ", so OpenKruise replaces the pod whatever changed"}}
	case f.manifest.Kind == "DaemonSet" && !hasGate(c.pod) && c.verdict < Recreate:
		c.recreate(Reason{Rule: "kruise-gate", Text: "a DaemonSet's pod without the readiness gate " + string(GateReady) + " is replaced"})
	case f.wish.update == InPlaceOnly && c.verdict == Recreate:
		c.verdict = Refuse
		c.reasons = append([]Reason{{Rule: "update-type", Field: c.reasons[0].Field, Text: "it needs a new pod, and the update type is InPlaceOnly; OpenKruise would stop there"}}, c.reasons...)
	}
}

func (f *follower) refused() bool {
	return slices.ContainsFunc(f.cases, func(c podCase) bool { return c.verdict == Refuse })
}

// NamesakesOf are the stock objects of its name that a workload's plan depends on.
func NamesakesOf(m Manifest) []Ref {
	switch {
	case IsFollowed(m.Ref):
		return []Ref{hostRef(m.Ref)}
	case m.Hosting != nil && m.Kind == "ReplicaSet":
		return []Ref{deploymentRef(m.Ref)}
	case m.Kind == "Deployment" && m.Group() == "apps":
		return []Ref{replicaSetRef(m.Ref)}
	}
	return nil
}
