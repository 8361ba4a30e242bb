package applier

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"situ.gitops/planner"
)

// Superseded is the state of a commit that a newer one took over from before it
// had ended. Only notes know it.
const Superseded planner.State = "superseded"

// NoteVersion is the version of the notes that this program writes.
const NoteVersion = 1

// Note is the record of one commit on one cluster, and the only status model.
// It is stored as YAML with these names; a change of their meaning needs a new v.
// It never holds a value of an env, a command or a secret.
type Note struct {
	V             int            `yaml:"v" json:"v"`
	Commit        string         `yaml:"commit" json:"commit"`
	Cluster       string         `yaml:"cluster" json:"cluster"`
	Path          string         `yaml:"path,omitempty" json:"path,omitempty"` // of the manifests in the repository
	Tree          string         `yaml:"tree,omitempty" json:"tree,omitempty"` // hash of that folder; survives a squash or rebase
	State         planner.State  `yaml:"state" json:"state"`
	Started       time.Time      `yaml:"started" json:"started"`
	Finished      time.Time      `yaml:"finished" json:"finished"`
	SupersededBy  string         `yaml:"supersededBy,omitempty" json:"supersededBy,omitempty"`
	RewrittenFrom string         `yaml:"rewrittenFrom,omitempty" json:"rewrittenFrom,omitempty"` // the branch no longer holds this commit
	Problems      []string       `yaml:"problems,omitempty" json:"problems,omitempty"`
	Workloads     []NoteWorkload `yaml:"workloads,omitempty" json:"workloads,omitempty"`
	Objects       []NoteObject   `yaml:"objects,omitempty" json:"objects,omitempty"`     // that were changed
	Truncated     bool           `yaml:"truncated,omitempty" json:"truncated,omitempty"` // something was left out for size
}

// NoteRef names an object in a note.
type NoteRef struct {
	APIVersion string `yaml:"apiVersion" json:"apiVersion"`
	Kind       string `yaml:"kind" json:"kind"`
	Namespace  string `yaml:"namespace,omitempty" json:"namespace,omitempty"`
	Name       string `yaml:"name" json:"name"`
}

// Ref is the object's name in the planner's words.
func (r NoteRef) Ref() planner.Ref { return planner.Ref(r) }

// NoteWorkload is what the commit did to one workload.
type NoteWorkload struct {
	NoteRef   `yaml:",inline"`
	Origin    string        `yaml:"origin,omitempty" json:"origin,omitempty"` // file and document that it comes from
	Verdict   string        `yaml:"verdict" json:"verdict"`                   // a planner.Verdict, or create
	State     planner.State `yaml:"state" json:"state"`
	Text      string        `yaml:"text,omitempty" json:"text,omitempty"` // why it is in this state
	Pods      NotePods      `yaml:"pods,flow" json:"pods"`
	Restarted []string      `yaml:"restarted,omitempty" json:"restarted,omitempty"` // containers, in place
	Reasons   []NoteReason  `yaml:"reasons,omitempty" json:"reasons,omitempty"`
	Failed    []NotePod     `yaml:"failed,omitempty" json:"failed,omitempty"`
}

// NotePods counts a workload's pods by what the commit did to them.
type NotePods struct {
	Total     int `yaml:"total" json:"total"`                         // at the end
	InPlace   int `yaml:"inPlace" json:"inPlace"`                     // containers restarted or resized in the same pod
	Metadata  int `yaml:"metadata" json:"metadata"`                   // patched, nothing restarted
	Recreated int `yaml:"recreated" json:"recreated"`                 // replaced by a new pod
	Created   int `yaml:"created" json:"created"`                     // new, in nobody's place
	Removed   int `yaml:"removed,omitempty" json:"removed,omitempty"` // gone, and in nobody's place is another
	Kept      int `yaml:"kept" json:"kept"`                           // not touched
	Failed    int `yaml:"failed" json:"failed"`
}

// NoteReason is a planner.Reason without values.
type NoteReason struct {
	Rule  string `yaml:"rule" json:"rule"`
	Field string `yaml:"field,omitempty" json:"field,omitempty"`
	Text  string `yaml:"text" json:"text"`
}

// NotePod is a failed pod, with the kubelet's words.
type NotePod struct {
	Name string `yaml:"name" json:"name"`
	Text string `yaml:"text" json:"text"`
}

// NoteObject is an object without pods that was changed.
type NoteObject struct {
	NoteRef `yaml:",inline"`
	Verb    planner.ObjectVerb `yaml:"verb" json:"verb"`
}

// ParseNote reads a note back. Notes are hints, never authority: whoever may
// push to the repository may have written them.
func ParseNote(text []byte) (Note, error) {
	if len(text) > maxNote {
		return Note{}, fmt.Errorf("note has %d bytes; want at most %d", len(text), maxNote)
	}
	var note Note
	if err := yaml.Unmarshal(text, &note); err != nil {
		return Note{}, fmt.Errorf("parse note: %w", err)
	}
	if note.V != NoteVersion {
		return Note{}, fmt.Errorf("note has v: %d; this situ reads v: %d", note.V, NoteVersion)
	}
	return note, nil
}
