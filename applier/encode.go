package applier

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"situ.gitops/planner"
)

// Bounds of a note: it lands in every git log that shows notes.
const (
	maxNote = 64 << 10
	maxText = 500 // of one sentence from outside, such as the kubelet's
)

// Encode gives the note's text, at most 64 KiB. What does not fit is left out,
// least telling first, and truncated says so.
func (n Note) Encode() ([]byte, error) {
	for _, shorten := range []func(Note) Note{whole, withoutReasons, withoutKept, withoutObjects, withoutWorkloads, headline} {
		n = shorten(n)
		text, err := encode(n)
		if err != nil {
			return nil, fmt.Errorf("encode note of commit %s: %w", n.Commit, err)
		}
		if len(text) <= maxNote {
			return text, nil
		}
		n.Truncated = true
	}
	return nil, fmt.Errorf("encode note of commit %s: it does not fit into %d bytes", n.Commit, maxNote)
}

func encode(n Note) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

func whole(n Note) Note { return n }

func withoutReasons(n Note) Note {
	n.Workloads = append([]NoteWorkload(nil), n.Workloads...)
	for i := range n.Workloads {
		n.Workloads[i].Reasons = nil
		n.Workloads[i].Failed = firstOf(n.Workloads[i].Failed, 3)
	}
	return n
}

func withoutKept(n Note) Note {
	var told []NoteWorkload
	for _, workload := range n.Workloads {
		if workload.Verdict != planner.Keep.String() || workload.State == planner.Failed {
			told = append(told, workload)
		}
	}
	n.Workloads = told
	return n
}

func withoutObjects(n Note) Note {
	n.Objects = firstOf(n.Objects, 20)
	return n
}

func withoutWorkloads(n Note) Note {
	n.Workloads = firstOf(n.Workloads, 50)
	n.Problems = firstOf(n.Problems, 50)
	return n
}

func headline(n Note) Note {
	n.Workloads, n.Objects, n.Problems = nil, nil, firstOf(n.Problems, 5)
	return n
}

func firstOf[T any](list []T, n int) []T {
	return list[:min(len(list), n)]
}

// bounded cuts a text from outside to what one sentence may take.
func bounded(text string) string {
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
