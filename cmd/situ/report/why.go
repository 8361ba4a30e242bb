package report

import (
	"strings"
	"time"

	"situ.gitops/planner"
)

// Why tells what made a pod what it is.
type Why struct {
	Pod        string          `json:"pod"`
	Namespace  string          `json:"namespace"`
	UID        string          `json:"uid"`
	Node       string          `json:"node,omitempty"`
	Made       time.Time       `json:"made"`
	Owners     []string        `json:"owners,omitempty"`   // its controller first
	Revision   string          `json:"revision,omitempty"` // of its template
	Commit     string          `json:"commit,omitempty"`   // that made it so
	InPlace    bool            `json:"inPlace"`            // by a patch of the running pod
	At         time.Time       `json:"at,omitzero"`        // of the patch
	Containers []string        `json:"containers,omitempty"`
	Origin     string          `json:"origin,omitempty"` // file and document in that commit
	Verdict    string          `json:"verdict,omitempty"`
	Reasons    []string        `json:"reasons,omitempty"`
	Drift      []planner.Drift `json:"drift,omitempty"`   // from its template
	Missing    string          `json:"missing,omitempty"` // what could not be found out, and the way out
}

// Why shows it.
func (p Printer) Why(why Why) error {
	if p.Format == JSON {
		return p.json(why)
	}
	page := p.page()
	page.line("%s in %s", page.paint(bold, "pod/"+why.Pod), why.Namespace)
	row := func(name, text string) {
		if text != "" {
			page.line("  %-9s %s", name, text)
		}
	}
	row("made", why.Made.UTC().Format(time.RFC3339)+", uid "+why.UID+on(why.Node))
	row("of", strings.Join(why.Owners, ", of "))
	row("template", why.Revision)
	row("by", why.how())
	row("from", why.Origin)
	row("verdict", why.Verdict)
	for _, reason := range why.Reasons {
		row("because", reason)
	}
	for _, d := range why.Drift {
		row("drift", Drift(d))
	}
	row("unknown", why.Missing)
	return p.write(page)
}

// how says which commit, and what it did to this pod.
func (w Why) how() string {
	switch {
	case w.Commit == "":
		return ""
	case !w.InPlace:
		return "commit " + w.Commit + ", as a new pod"
	case len(w.Containers) == 0:
		return "commit " + w.Commit + " at " + w.At.UTC().Format(time.RFC3339) + ", in place, nothing restarted"
	}
	return "commit " + w.Commit + " at " + w.At.UTC().Format(time.RFC3339) + ", in place, restarting " + strings.Join(w.Containers, ", ")
}

func on(node string) string {
	if node == "" {
		return ""
	}
	return ", on node " + node
}
