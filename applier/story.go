package applier

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
)

// story gathers what the rounds of one commit did, since the last plan alone
// no longer shows it: by then every pod is as it should be.
type story struct {
	commit    planner.Commit
	started   time.Time
	last      Outcome
	retries   *retries
	workloads map[planner.Ref]*workloadStory
	objects   []NoteObject
}

// workloadStory is the costliest that was planned for a workload and its pods.
type workloadStory struct {
	created    bool
	verdict    planner.Verdict
	containers []string
	reasons    []planner.Reason
	first      map[types.UID]bool            // pods of the first round
	pods       map[types.UID]planner.Verdict // of pods whose turn came
	fewer      int                           // pods that were to go for good
}

func newStory(commit planner.Commit) *story {
	return &story{commit: commit, started: time.Now(), workloads: map[planner.Ref]*workloadStory{}}
}

// add takes one more round in.
func (s *story) add(outcome Outcome, retries *retries) {
	s.last, s.retries = outcome, retries
	for _, plan := range outcome.Plan.Workloads {
		workload := s.workloads[plan.Ref]
		if workload == nil {
			workload = newWorkloadStory(plan)
			s.workloads[plan.Ref] = workload
		}
		workload.add(plan)
	}
	verbs := map[planner.Ref]planner.ObjectVerb{}
	for _, object := range outcome.Plan.Objects {
		verbs[object.Ref] = object.Verb
	}
	var changes []NoteObject
	for _, result := range outcome.Results {
		if verb, isObject := verbs[result.Unit]; isObject && result.Status == Done {
			changes = append(changes, NoteObject{NoteRef: NoteRef(result.Unit), Verb: verb})
		}
	}
	s.objects = union(s.objects, changes)
}

func newWorkloadStory(plan planner.WorkloadPlan) *workloadStory {
	w := &workloadStory{first: map[types.UID]bool{}, pods: map[types.UID]planner.Verdict{}}
	for _, pod := range plan.Pods {
		w.first[pod.UID] = true
	}
	return w
}

func (w *workloadStory) add(plan planner.WorkloadPlan) {
	w.created = w.created || plan.Create
	if plan.Verdict > w.verdict {
		w.verdict, w.reasons = plan.Verdict, plan.Reasons
	} else if plan.Verdict == w.verdict {
		w.reasons = withNewRules(w.reasons, plan.Reasons)
	}
	for _, name := range plan.Containers {
		if !slices.Contains(w.containers, name) {
			w.containers = append(w.containers, name)
		}
	}
	fewer := 0
	for _, pod := range plan.Pods {
		if pod.Turn > 0 && pod.UID != "" {
			w.pods[pod.UID] = max(w.pods[pod.UID], pod.Verb)
		}
		if pod.Verb == planner.Remove {
			fewer++
		}
	}
	w.fewer = max(w.fewer, fewer)
}

// withNewRules adds what only a later round has found out. What a rule has said
// already, of the first pods, goes for the others.
func withNewRules(told, reasons []planner.Reason) []planner.Reason {
	for _, reason := range reasons {
		if !slices.ContainsFunc(told, func(one planner.Reason) bool { return one.Rule == reason.Rule }) {
			told = append(slices.Clone(told), reason)
		}
	}
	return told
}

// note tells the story so far, as one that ends in state.
func (s *story) note(state planner.State) Note {
	note := Note{V: NoteVersion, Commit: s.commit.ID, State: state, Started: s.started.UTC().Truncate(time.Millisecond),
		Finished: time.Now().UTC().Truncate(time.Millisecond), Objects: s.objects, Problems: s.problems()}
	for _, plan := range s.last.Plan.Workloads {
		note.Workloads = append(note.Workloads, s.workloads[plan.Ref].note(plan))
	}
	return note
}

// problems are all that a person must mend: of the files, of objects, of actions.
func (s *story) problems() []string {
	var all []string
	for _, problem := range s.last.Plan.Problems {
		all = append(all, bounded(problem.String()))
	}
	for _, object := range s.last.Plan.Objects {
		if object.State == planner.Failed {
			all = append(all, bounded(fmt.Sprintf("%s (%s): %s", object.Ref, object.Origin, object.Text)))
		}
	}
	for _, part := range partsOf(s.last.Plan) {
		if err := s.retries.givenUp(part.ref); err != nil {
			all = append(all, bounded(fmt.Sprintf("%s: %v", part.ref, err)))
		}
	}
	return slices.Compact(all)
}

// note tells what happened to the workload, given the last plan for it.
func (w *workloadStory) note(plan planner.WorkloadPlan) NoteWorkload {
	note := NoteWorkload{NoteRef: NoteRef(plan.Ref), Origin: plan.Origin.String(), Verdict: w.word(), State: plan.State,
		Text: bounded(plan.Text), Pods: w.count(plan)}
	if note.Pods.InPlace > 0 {
		note.Restarted = slices.Sorted(slices.Values(w.containers))
	}
	for _, reason := range w.reasons {
		note.Reasons = append(note.Reasons, NoteReason{Rule: reason.Rule, Field: reason.Field, Text: reason.Text})
	}
	for _, pod := range plan.Pods {
		if broken(pod) {
			note.Failed = append(note.Failed, NotePod{Name: pod.Name, Text: bounded(pod.Text)})
		}
	}
	return note
}

// word is the verdict on the workload; one that was not there is created.
func (w *workloadStory) word() string {
	if w.created {
		return string(planner.Create)
	}
	return w.verdict.String()
}

// left counts the pods of the first round that are still here.
func (w *workloadStory) left(here map[types.UID]bool) int {
	n := 0
	for uid := range w.first {
		if here[uid] {
			n++
		}
	}
	return n
}

// broken: the pod itself has failed. One that must not be changed is as it was.
func broken(pod planner.PodPlan) bool {
	return pod.State == planner.Failed && pod.Verb != planner.Refuse
}

// count sorts the pods of the last plan, and those that are gone, by what was
// done to them. A pod whose update is still to come counts as kept.
func (w *workloadStory) count(plan planner.WorkloadPlan) NotePods {
	var pods NotePods
	fresh := 0
	here := map[types.UID]bool{}
	for _, pod := range plan.Pods {
		if pod.UID == "" {
			continue // not in the cluster yet
		}
		pods.Total++
		here[pod.UID] = true
		verb, touched := w.pods[pod.UID]
		switch {
		case broken(pod):
			pods.Failed++
		case !w.first[pod.UID]:
			fresh++
		case !touched || verb == planner.Keep || !pod.Done && pod.Verb != planner.Keep:
			pods.Kept++
		case verb == planner.Metadata:
			pods.Metadata++
		case verb == planner.Resize, verb == planner.Restart:
			pods.InPlace++
		default:
			pods.Kept++
		}
	}
	for uid, verb := range w.pods {
		if verb == planner.Recreate && !here[uid] {
			pods.Recreated++
		}
	}
	gone := max(0, len(w.first)-w.left(here)-pods.Recreated)
	unreplaced := min(w.fewer, max(0, pods.Recreated-(pods.Total-w.left(here)))) // one that was to be made anew went instead of another
	pods.Recreated -= unreplaced
	pods.Removed = min(gone+unreplaced, w.fewer)
	pods.Created = max(0, fresh-pods.Recreated)
	return pods
}
