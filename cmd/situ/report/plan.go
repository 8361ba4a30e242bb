package report

import (
	"situ.gitops/planner"
)

// Plan is the JSON of a plan, v 1.
type Plan struct {
	V         int        `json:"v"`
	Commit    string     `json:"commit"`
	Cluster   string     `json:"cluster"`
	Summary   Summary    `json:"summary"`
	Workloads []Workload `json:"workloads"`
	Objects   []Object   `json:"objects"`
}

// Summary counts what a plan does.
type Summary struct {
	State     planner.State `json:"state"`
	Workloads Counts        `json:"workloads"` // by their verdict
	Pods      Counts        `json:"pods"`      // by their verb
	Objects   ObjectCounts  `json:"objects"`
	Drifted   int           `json:"drifted"` // pods that others have written on
	Problems  []Problem     `json:"problems"`
}

// Counts counts verdicts.
type Counts struct {
	Total    int `json:"total"`
	Keep     int `json:"keep"`
	Remove   int `json:"remove"`
	Metadata int `json:"metadata"`
	Resize   int `json:"resize"`
	Restart  int `json:"restart"`
	Recreate int `json:"recreate"`
	Refuse   int `json:"refuse"`
	Create   int `json:"create"`
	Update   int `json:"update"` // workloads that are written to, though none of their pods changes
}

// ObjectCounts counts the verbs of objects that hold no pods.
type ObjectCounts struct {
	Total  int `json:"total"`
	Create int `json:"create"`
	Update int `json:"update"`
	Wait   int `json:"wait"`
	Refuse int `json:"refuse"`
}

// Problem is what a person must mend.
type Problem struct {
	Origin planner.Origin `json:"origin"`
	Text   string         `json:"text"`
}

// Workload is one workload of a plan.
type Workload struct {
	planner.Ref
	Origin     planner.Origin   `json:"origin"`
	Host       string           `json:"host"`
	Create     bool             `json:"create"`
	Verdict    planner.Verdict  `json:"verdict"`
	State      planner.State    `json:"state"`
	Text       string           `json:"text,omitempty"`
	Containers []string         `json:"containers"`
	Reasons    []planner.Reason `json:"reasons"`
	Fields     []string         `json:"fields,omitempty"`
	Budget     planner.Budget   `json:"budget"`
	Warnings   []string         `json:"warnings,omitempty"`
	Pods       []Pod            `json:"pods"`
}

// Pod is one pod of a plan.
type Pod struct {
	Name    string           `json:"name"`
	Verb    planner.Verdict  `json:"verb"`
	Turn    int              `json:"turn"`
	State   planner.State    `json:"state"`
	Text    string           `json:"text,omitempty"`
	Reasons []planner.Reason `json:"reasons"`
	Drift   []planner.Drift  `json:"drift,omitempty"`
}

// Object is one object without pods of a plan.
type Object struct {
	planner.Ref
	Origin planner.Origin     `json:"origin"`
	Verb   planner.ObjectVerb `json:"verb"`
	Fields []string           `json:"fields,omitempty"`
	State  planner.State      `json:"state"`
	Text   string             `json:"text,omitempty"`
}

// NewPlan prepares a plan for JSON. Lists are never null.
func NewPlan(cluster string, plan planner.Plan) Plan {
	view := Plan{V: 1, Commit: plan.Commit, Cluster: cluster, Summary: Summarize(plan), Workloads: []Workload{}, Objects: []Object{}}
	for _, w := range plan.Workloads {
		view.Workloads = append(view.Workloads, newWorkload(w))
	}
	for _, o := range plan.Objects {
		view.Objects = append(view.Objects, Object{Ref: o.Ref, Origin: o.Origin, Verb: o.Verb, Fields: o.Fields, State: o.State, Text: o.Text})
	}
	return view
}

func newWorkload(w planner.WorkloadPlan) Workload {
	view := Workload{Ref: w.Ref, Origin: w.Origin, Host: w.Host, Create: w.Create, Verdict: w.Verdict, State: w.State, Text: w.Text,
		Containers: orEmpty(w.Containers), Reasons: orEmpty(w.Reasons), Fields: w.Fields, Budget: w.Budget, Warnings: w.Warnings, Pods: []Pod{}}
	for _, pod := range w.Pods {
		view.Pods = append(view.Pods, Pod{Name: pod.Name, Verb: pod.Verb, Turn: pod.Turn, State: pod.State, Text: pod.Text,
			Reasons: orEmpty(pod.Reasons), Drift: pod.Drift})
	}
	return view
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Summarize counts what a plan does.
func Summarize(plan planner.Plan) Summary {
	s := Summary{State: plan.State, Problems: []Problem{}}
	for _, w := range plan.Workloads {
		s.Workloads.add(w.Verdict)
		if w.Create {
			s.Workloads.Create++
		}
		if updates(w) {
			s.Workloads.Update++
		}
		for _, pod := range w.Pods {
			s.Pods.add(pod.Verb)
		}
		s.Drifted += drifted(w.Pods)
	}
	for _, o := range plan.Objects {
		s.Objects.add(o.Verb)
	}
	for _, problem := range plan.Problems {
		s.Problems = append(s.Problems, Problem(problem))
	}
	return s
}

func (c *Counts) add(verdict planner.Verdict) {
	c.Total++
	*[...]*int{&c.Keep, &c.Remove, &c.Metadata, &c.Resize, &c.Restart, &c.Recreate, &c.Refuse}[verdict]++
}

func (c *ObjectCounts) add(verb planner.ObjectVerb) {
	c.Total++
	switch verb {
	case planner.Create:
		c.Create++
	case planner.Update:
		c.Update++
	case planner.Wait:
		c.Wait++
	case planner.RefuseObject:
		c.Refuse++
	}
}

// Changes says whether the plan would change anything in the cluster.
func (s Summary) Changes() bool {
	w, o := s.Workloads, s.Objects
	return w.Create+w.Update+w.Remove+w.Metadata+w.Resize+w.Restart+w.Recreate+o.Create+o.Update+o.Wait > 0
}

// Troubled says whether the plan leaves something out that a person must mend.
func (s Summary) Troubled() bool {
	return len(s.Problems)+s.Workloads.Refuse+s.Objects.Refuse > 0
}
