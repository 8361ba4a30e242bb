package planner

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Two sources that want one object otherwise would take turns in writing it for
// ever, each of them content for a moment. So what situ writes remembers its
// source in AnnotationSource, and another source keeps its hands off.
//
// The annotation comes with the first write that is due anyway: an object that
// has none is anybody's, and none is written for its sake. Two sources that want
// an object alike, such as their namespace, do not disturb each other.

var sourcePath = []string{"metadata", "annotations", AnnotationSource}

// foreignSource names another source that has the object, "" if it is ours, free,
// or nobody asks.
func foreignSource(commit Commit, live *unstructured.Unstructured) string {
	if live == nil || commit.Source == "" {
		return ""
	}
	if source := live.GetAnnotations()[AnnotationSource]; source != commit.Source {
		return source
	}
	return ""
}

// taken: the person who runs situ says that the object moved here for good.
func taken(commit Commit, source string) bool { return slices.Contains(commit.Policy.TakeOver, source) }

func foreignText(source string) string {
	return "the source " + source + " has it, by its annotation " + AnnotationSource + ", and wants it otherwise: remove it from one of the two;" +
		" if it moved here for good, give --take-over " + source + "; if this is that source by another name, give --source " + source
}

// keepOut turns a workload's plan into a refusal where another source has it.
// What the two want alike stays as planned: there is nothing to do.
func (p *WorkloadPlan) keepOut(commit Commit, live *unstructured.Unstructured) {
	source := foreignSource(commit, live)
	switch {
	case source == "":
	case taken(commit, source):
		p.Steps = append([]Step{takeOver(commit, live)}, p.Steps...)
		if p.State == Settled {
			p.State, p.Text = Progressing, takenText(source)
		}
	case len(p.Steps) > 0:
		text := foreignText(source)
		*p = WorkloadPlan{Ref: p.Ref, Origin: p.Origin, Host: p.Host, Warnings: p.Warnings,
			Verdict: Refuse, State: Failed, Text: text, Reasons: []Reason{{Rule: "source", Text: text}}}
	}
}

// keepOut is the same for an object that holds no pods.
func (p *ObjectPlan) keepOut(commit Commit, live *unstructured.Unstructured) {
	source := foreignSource(commit, live)
	switch {
	case source == "" || p.Verb == RefuseObject || p.Verb == Wait:
	case taken(commit, source):
		p.Steps = append([]Step{takeOver(commit, live)}, p.Steps...)
		if p.Verb == None {
			p.Verb, p.State, p.Text = Update, Progressing, takenText(source)
		}
	case p.Verb != None:
		p.Verb, p.State, p.Text, p.Fields, p.Steps = RefuseObject, Failed, foreignText(source), nil, nil
	}
}

func takenText(source string) string { return "taken over from the source " + source }

// takeOver writes the new source on an object, if the old one is still there.
func takeOver(commit Commit, live *unstructured.Unstructured) Step {
	ref := Ref{APIVersion: live.GetAPIVersion(), Kind: live.GetKind(), Namespace: live.GetNamespace(), Name: live.GetName()}
	const at = "/metadata/annotations/" + Domain + "~1source"
	was := live.GetAnnotations()[AnnotationSource]
	return Step{{
		Name: "take-over", Mode: JSONPatch, Ref: ref, UID: live.GetUID(), Text: "take " + ref.String() + " over from the source " + was,
		Body: []any{
			map[string]any{"op": "test", "path": at, "value": was},
			map[string]any{"op": "replace", "path": at, "value": commit.Source},
		},
	}}
}
