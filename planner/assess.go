package planner

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// podCase is one pod of a workload, and what the commit means for it.
type podCase struct {
	pod            *corev1.Pod
	mark           Mark // of its last update in place, read once
	current        bool // made from, or patched to, the wanted template
	verdict        Verdict
	reasons        []Reason
	changes        []Change // to patch, when the verdict is in place
	containers     []string // that restart in place, sorted
	patched        []string // those of them that the patch restarts; a resize restarts the others
	resizes        bool     // through pods/resize, before the patch
	resizeRestarts bool     // and that restarts a container
	progress       progress
	turn           int
	asked          bool   // somebody asks for this very pod to be deleted
	fresh          bool   // and it has the wanted template
	departs        bool   // it goes, and none takes its place
	waits          bool   // it is its turn, and its host is not ready to make another in its place
	foreign        bool   // its host's controller replaces it; situ must not
	pulling        string // the image that it waits for, "" if it has all
	blocked        string // who forbids its disruption
	kept           string // why it stays as it is on purpose, "" if it does not
	drift          []Drift
}

// assessor answers for the pods of one workload. Pods made from the same
// template share one comparison, so that a workload's size costs nothing.
type assessor struct {
	want     Template
	settings Settings
	served   Served

	allocatable map[string]corev1.ResourceList
	compared    map[string]comparison
	amounts     []podAmount      // of the wanted template
	history     []map[string]any // the objects that hold the workload's templates, now and earlier
	earlier     []podAmount      // of those
}

type comparison struct {
	from    Template
	equal   bool
	changes []Change
	written written // in the old template
}

// compare remembers by the key of the old template.
func (a *assessor) compare(m made) comparison {
	if c, ok := a.compared[m.key]; ok {
		return c
	}
	from := templateOf(m.from)
	c := comparison{from: from, equal: same(from, a.want), written: writtenIn(from)}
	if !c.equal {
		c.changes = changes(from, a.want)
	}
	if a.compared == nil {
		a.compared = map[string]comparison{}
	}
	a.compared[m.key] = c
	return c
}

// made is the template that a pod was made from, as its host knows it.
type made struct {
	key     string         // tells templates of one workload apart
	from    map[string]any // the object that has the template: spec.template
	known   bool
	foreign string // why this pod cannot be updated in place whatever changed, "" if it can
}

func (a *assessor) assess(pod *corev1.Pod, m made) podCase {
	c := podCase{pod: pod, mark: markOf(pod)}
	switch {
	case m.foreign != "":
		c.foreign = true
		c.recreate(Reason{Rule: "host", Text: m.foreign})
		return c
	case !m.known:
		c.recreate(Reason{Rule: "unknown-revision", Text: "the template that it was made from is not known any more"})
		return c
	}
	compared := a.compare(m)
	mark := c.mark
	rest := append(remainder(pod, mark, a.want, compared.changes), a.leftOver(pod, compared.changes)...)
	c.drift = compared.written.drift(pod, mark, compared.changes, rest)
	if compared.equal && len(rest) == 0 {
		c.current = true
		return c
	}
	c.verdict = Metadata // at least its revision label moves on
	for _, change := range slices.Concat(compared.changes, rest) {
		a.apply(&c, mark, compared.from, change)
	}
	c.patched = slices.Compact(slices.Sorted(slices.Values(c.patched)))
	c.containers = slices.Compact(slices.Sorted(slices.Values(append(c.containers, c.patched...))))
	a.obey(&c)
	return c
}

// apply asks the rules about one change of one pod.
func (a *assessor) apply(c *podCase, mark Mark, from Template, change Change) {
	question := asked{Change: change, from: from, to: a.want, pod: c.pod, touched: mark.Touched, served: a.served, allocatable: a.allocatable}
	rule := judge(question)
	c.resizes = c.resizes || strings.HasPrefix(rule.ID, "resize") && rule.Verdict < Recreate
	c.resizeRestarts = c.resizeRestarts || rule.ID == "resize-restart"
	if rule.Verdict == Recreate && satisfied(c.pod, change) {
		return
	}
	done := rule.ID == "image-already" || rule.Verdict < Recreate && reached(c.pod, mark, change)
	if !done {
		c.changes = append(c.changes, change)
	}
	c.reasons = append(c.reasons, reason(rule, change))
	c.verdict = max(c.verdict, rule.Verdict)
	if done {
		return
	}
	switch rule.ID {
	case "image", "sidecar-image":
		name, _ := change.Container()
		c.patched = append(c.patched, name)
	case "env-from-metadata":
		c.patched = append(c.patched, readers(question)...)
	case "resize-restart":
		name, _ := change.Container()
		c.containers = append(c.containers, name)
	}
}

// obey applies the update type to what the rules said.
func (a *assessor) obey(c *podCase) {
	switch {
	case a.settings.Update == ReCreate && keepsClaims(c.reasons):
	case a.settings.Update == ReCreate:
		c.recreate(Reason{Rule: "update-type", Text: "the update type is ReCreate"})
	case a.settings.Update == InPlaceOnly && c.verdict == Recreate:
		c.verdict = Refuse
		forced := costliestFirst(c.reasons)[0].Field
		c.reasons = append(c.reasons, Reason{Rule: "update-type", Field: forced, Text: "it needs a new pod, and the update type is InPlaceOnly"})
	}
	c.reasons = costliestFirst(c.reasons)
}

// costliestFirst puts what forced the verdict in front: the first reason is what people are told.
func costliestFirst(reasons []Reason) []Reason {
	sorted := slices.Clone(reasons)
	slices.SortStableFunc(sorted, func(a, b Reason) int { return int(verdictOf(b.Rule)) - int(verdictOf(a.Rule)) })
	return sorted
}

func verdictOf(id string) Verdict {
	for i := range rules {
		if rules[i].ID == id {
			return rules[i].Verdict
		}
	}
	return Refuse // a reason beside the table outranks it
}

func (c *podCase) recreate(why Reason) {
	c.verdict, c.containers = Recreate, nil
	c.reasons = append(c.reasons, why)
}

// satisfied reports whether the live pod has the new value already: a default
// that a newer API server fills in everywhere is no change.
func satisfied(pod *corev1.Pod, change Change) bool {
	if change.Old != nil || change.New == nil || !strings.HasPrefix(change.Field, "spec.") {
		return false
	}
	live, ok := liveField(pod, change.path)
	return ok && live == jsonText(change.New)
}
