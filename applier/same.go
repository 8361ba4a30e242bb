package applier

import (
	"reflect"
	"regexp"
	"slices"

	"situ.gitops/planner"
)

// passing are the parts of a text that change while nothing happens, such as
// how long the kubelet backs off and how often it tried.
var passing = regexp.MustCompile(`\b([0-9]+(\.[0-9]+)?(h|ms|m|s)?)+\b`)

// Same says whether two notes tell the same, whatever their times.
func (n Note) Same(other Note) bool {
	n.Started, n.Finished = other.Started, other.Finished
	return reflect.DeepEqual(n.steady(), other.steady())
}

// steady is the note without what passes.
func (n Note) steady() Note {
	n.Problems = slices.Clone(n.Problems)
	for i := range n.Problems {
		n.Problems[i] = passing.ReplaceAllString(n.Problems[i], "#")
	}
	n.Workloads = slices.Clone(n.Workloads)
	for i := range n.Workloads {
		workload := &n.Workloads[i]
		workload.Text = passing.ReplaceAllString(workload.Text, "#")
		workload.Failed = slices.Clone(workload.Failed)
		for j := range workload.Failed {
			workload.Failed[j].Text = passing.ReplaceAllString(workload.Failed[j].Text, "#")
		}
	}
	return n
}

// After is the note as it should stand once earlier, a note about the same
// commit, is known: what did not change this time is told as it was then. So a
// restart of situ or the repair of one object never wipes out the story of the
// rollout. The time of a commit that had come to a bad end runs on.
func (n Note) After(earlier Note) Note {
	if earlier.State == planner.Failed || earlier.State == planner.Waiting {
		n.Started = earlier.Started
	}
	told := map[NoteRef]NoteWorkload{}
	for _, workload := range earlier.Workloads {
		told[workload.NoteRef] = workload
	}
	var workloads []NoteWorkload
	for _, now := range n.Workloads {
		then, found := told[now.NoteRef]
		if found && now.Verdict == planner.Keep.String() {
			then.State, then.Text, then.Failed, then.Pods.Failed = now.State, now.Text, now.Failed, now.Pods.Failed
			now = then
		}
		workloads = append(workloads, now)
	}
	n.Workloads = workloads
	n.Objects = union(earlier.Objects, n.Objects)
	return n
}

// union is the earlier changes with the later ones behind them, each object once.
func union(earlier, later []NoteObject) []NoteObject {
	seen := map[NoteRef]bool{}
	var all []NoteObject
	for _, object := range append(append([]NoteObject(nil), earlier...), later...) {
		if !seen[object.NoteRef] {
			seen[object.NoteRef] = true
			all = append(all, object)
		}
	}
	return all
}
