package report

import (
	"fmt"
	"strings"
	"time"

	"situ.gitops/applier"
	"situ.gitops/planner"
)

// Note shows what a commit came to.
func (p Printer) Note(note applier.Note) error {
	switch p.Format {
	case JSON:
		return p.json(note)
	case Markdown:
		return p.notesMarkdown([]applier.Note{note})
	}
	page := p.page()
	page.note(note)
	return p.write(page)
}

// History shows notes, in the order they are handed over.
func (p Printer) History(notes []applier.Note) error {
	switch p.Format {
	case JSON:
		return p.json(orEmpty(notes))
	case Markdown:
		return p.notesMarkdown(notes)
	}
	page := p.page()
	for i, note := range notes {
		if i > 0 {
			page.line("")
		}
		page.note(note)
	}
	if len(notes) == 0 {
		page.line("no notes yet")
	}
	return p.write(page)
}

func (p *page) note(note applier.Note) {
	p.line("%s  %s", p.paint(bold, short(note.Commit)+" on "+note.Cluster), p.paint(stateColor(note.State), noteHeadline(note)))
	for _, w := range note.Workloads {
		p.line("  %s  %s  %s", w.Ref(), p.paint(stateColor(w.State), string(w.State)), podsInWords(w))
		if w.Text != "" && w.State != planner.Settled {
			p.line("    %s", w.Text)
		}
		for _, reason := range w.Reasons {
			p.line("    %s", p.paint(dim, sentence(planner.Reason{Rule: reason.Rule, Field: reason.Field, Text: reason.Text})))
		}
		for _, pod := range w.Failed {
			p.line("    %s: %s", pod.Name, p.paint(red, pod.Text))
		}
	}
	for _, o := range note.Objects {
		p.line("  %s  %s", o.Ref(), past(o.Verb))
	}
	for _, problem := range note.Problems {
		p.line("  %s %s", p.paint(red, "problem:"), problem)
	}
	if note.Truncated {
		p.line("  (the note was too long; the rest was left out)")
	}
}

func noteHeadline(note applier.Note) string {
	text := string(note.State)
	switch {
	case note.SupersededBy != "" && note.State == applier.Superseded:
		text += " by " + short(note.SupersededBy)
	case note.SupersededBy != "":
		text += ", superseded by " + short(note.SupersededBy)
	}
	if note.RewrittenFrom != "" {
		text += ", history rewritten from " + short(note.RewrittenFrom)
	}
	if !note.Finished.IsZero() {
		text += fmt.Sprintf(", %s, took %s", note.Finished.UTC().Format(time.DateTime+" UTC"), note.Finished.Sub(note.Started))
	}
	return text
}

// podsInWords is "4 pods: 4 in place (app)".
func podsInWords(w applier.NoteWorkload) string {
	inPlace := "in place"
	if len(w.Restarted) > 0 {
		inPlace += " (" + strings.Join(w.Restarted, ", ") + " restarted)"
	}
	return some(count(w.Pods.Total, "pod"), w.Pods.InPlace, inPlace, w.Pods.Metadata, "patched without a restart",
		w.Pods.Recreated, "recreated", w.Pods.Created, "created", w.Pods.Removed, "removed", w.Pods.Kept, "kept", w.Pods.Failed, "failed")
}

func past(verb planner.ObjectVerb) string {
	switch verb {
	case planner.Create:
		return "created"
	case planner.Update:
		return "updated"
	}
	return string(verb)
}

func (p Printer) notesMarkdown(notes []applier.Note) error {
	page := p.page()
	page.line("| commit | cluster | outcome | what happened |")
	page.line("|---|---|---|---|")
	for _, note := range notes {
		var what []string
		for _, w := range note.Workloads {
			what = append(what, fmt.Sprintf("%s: %s, %s", code(w.Ref().String()), w.State, escape(podsInWords(w))))
		}
		for _, o := range note.Objects {
			what = append(what, fmt.Sprintf("%s: %s", code(o.Ref().String()), past(o.Verb)))
		}
		for _, problem := range note.Problems {
			what = append(what, "problem: "+escape(problem))
		}
		page.line("| %s | %s | **%s** | %s |", code(short(note.Commit)), escape(note.Cluster), escape(noteHeadline(note)), strings.Join(what, "<br>"))
	}
	return p.write(page)
}
