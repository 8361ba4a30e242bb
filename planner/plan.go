package planner

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Verdict says what a change costs a pod, cheapest first. The costliest verdict
// of its changes decides a pod, and the costliest pod its workload.
type Verdict int

// The verdicts, cheapest first.
const (
	Keep     Verdict = iota // nothing to do
	Remove                  // it goes, and none takes its place: fewer are wanted
	Metadata                // patched, nothing restarts
	Resize                  // patched through pods/resize
	Restart                 // patched, the named containers restart in the same pod
	Recreate                // a new pod
	Refuse                  // must not be done
)

var verdictNames = [...]string{"keep", "remove", "metadata", "resize", "restart", "recreate", "refuse"}

func (v Verdict) String() string { return verdictNames[v] }

// MarshalText gives the verdict's name to JSON and YAML.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// State says how far a workload, an object or a whole commit has come.
type State string

// The states, best first. A commit's state is the worst of its parts.
const (
	Settled     State = "settled"     // as the commit wants it, and healthy
	Held        State = "held"        // partition, pause or update type keep some pods as they are, on purpose
	Waiting     State = "waiting"     // for something that is not there yet
	Progressing State = "progressing" // on the way
	Failed      State = "failed"      // a person must act; the rollout has stopped
)

// Plan is everything a commit needs, decided from one snapshot.
type Plan struct {
	Commit    string
	Workloads []WorkloadPlan // in the order of the manifests
	Objects   []ObjectPlan   // everything that holds no pods, in the order of application
	Problems  []Problem
	State     State
	Wake      time.Time // look again then, though nothing happened; zero: events alone will do
}

// Reason says why: the rule, the field that fired it, and both values where they are safe to show.
type Reason struct {
	Rule  string `json:"rule"`
	Field string `json:"field,omitempty"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	Text  string `json:"text"`
}

// WorkloadPlan is what the commit means for one workload and each of its pods.
type WorkloadPlan struct {
	Ref
	Origin     Origin
	Host       string // the object that carries the pods: "deployment/web through replicaset/web-5d8f"
	Create     bool   // the workload is not in the cluster yet
	Verdict    Verdict
	Containers []string // that restart in place, sorted
	Reasons    []Reason
	Fields     []string // that are written to the workload itself, beside its pods' template and their number
	Budget     Budget
	Pods       []PodPlan
	Warnings   []string // what the manifest asks for and does not get, and what to do instead
	State      State
	Text       string // why it is in this state
	Steps      []Step // what to do now
	Cleanup    Step   // what to do if nobody goes on with this plan
}

// PodPlan is what the commit means for one pod.
type PodPlan struct {
	Name    string
	UID     types.UID
	Verb    Verdict
	Turn    int  // 1: now; 2 and later: as predicted from the budget; 0: never by this commit
	Done    bool // at the wanted template and available
	State   State
	Text    string // what it waits for or why it failed, in the kubelet's words where it has some
	Reasons []Reason
	Drift   []Drift // no change: it is told, and left alone
}

// ObjectVerb is what happens to an object that holds no pods.
type ObjectVerb string

// The object verbs.
const (
	None         ObjectVerb = "none"
	Create       ObjectVerb = "create"
	Update       ObjectVerb = "update"
	Wait         ObjectVerb = "wait"
	RefuseObject ObjectVerb = "refuse"
)

// ObjectPlan is what the commit means for one object that holds no pods.
type ObjectPlan struct {
	Ref
	Origin Origin
	Verb   ObjectVerb
	Fields []string // that change; of a Secret the keys only
	State  State
	Text   string
	Wave   int    // waves are applied one after the other: namespaces, CRDs, then by kind
	Steps  []Step // what to do now
}

// Step holds actions that may run side by side. A workload's steps run in their
// order; when an action fails, the workload's later steps wait for the next round.
type Step []Action

// Mode is how an action writes.
type Mode string

// The modes. Every write carries field manager "situ".
const (
	ServerSideApply Mode = "apply"  // create or update; conflicts are forced
	CreateOnly      Mode = "create" // an object that exists already is fine
	StrategicPatch  Mode = "patch"  // strategic merge, UID in the body
	JSONPatch       Mode = "jsonpatch"
	Delete          Mode = "delete"
)

// Action is one write. The applier carries it out as it is, or reports that its
// object changed since the plan was made.
type Action struct {
	Name        string // of the step in a rollout, for progress and fault points: "pause", "patch", ...
	Mode        Mode
	Ref         Ref
	Subresource string    // "" for the object itself, "resize" or "status"
	UID         types.UID // the object that this was decided on; "": it was not there
	Generation  int64     // the spec that this was decided on; 0: any
	Body        any       // JSON object, or list of JSON patch operations
	Adopt       bool      // before it: hand fields that kubectl owned over to situ
	Disown      []string  // before it: fields that situ gives up, such as "spec.replicas"; their values stay
	Orphan      bool      // of a deletion: what the object owns stays, without an owner
	DryRun      bool      // only asked, not done: a refusal stops the steps behind it
	Text        string    // what and why, for people
}
