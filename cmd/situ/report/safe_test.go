package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"situ.gitops/applier"
	"situ.gitops/planner"
)

// hostile is what somebody who may push could put into a name or a message.
const hostile = "a\x1b[2J\x1b]0;owned\x07b\rc\nd\u202ee\u009b31m\U000e0041f\xffg"

func TestHostileTextCannotSteerATerminal(t *testing.T) {
	ref := planner.Ref{APIVersion: "v1", Kind: "Pod", Name: hostile, Namespace: hostile}
	why := planner.Reason{Rule: hostile, Field: hostile, From: hostile, To: hostile, Text: hostile}
	plan := planner.Plan{Commit: hostile,
		Workloads: []planner.WorkloadPlan{{Ref: ref, Origin: planner.Origin{File: hostile}, Host: hostile, Verdict: planner.Restart, Text: hostile,
			Containers: []string{hostile}, Reasons: []planner.Reason{why}, Pods: []planner.PodPlan{{Name: hostile, Text: hostile, Verb: planner.Restart}}}},
		Objects:  []planner.ObjectPlan{{Ref: ref, Origin: planner.Origin{File: hostile}, Verb: planner.Update, Fields: []string{hostile}, Text: hostile}},
		Problems: []planner.Problem{{Origin: planner.Origin{File: hostile}, Text: hostile}},
	}
	note := applier.Note{Commit: hostile, Cluster: hostile, State: planner.State(hostile), SupersededBy: hostile, Problems: []string{hostile},
		Workloads: []applier.NoteWorkload{{NoteRef: applier.NoteRef(ref), Text: hostile, Restarted: []string{hostile}, Failed: []applier.NotePod{{Name: hostile, Text: hostile}}}},
		Objects:   []applier.NoteObject{{NoteRef: applier.NoteRef(ref), Verb: planner.ObjectVerb(hostile)}},
	}
	painted := regexp.MustCompile(`\x1b\[[0-6]{1,2}m`)
	for _, format := range []Format{Text, Markdown, JSON} {
		for _, color := range []bool{false, true} {
			var out bytes.Buffer
			p := Printer{Out: &out, Format: format, Color: color && format == Text}
			for name, err := range map[string]error{
				"plan": p.Plan("prod", plan), "note": p.Note(note), "history": p.History([]applier.Note{note}),
				"why": p.Why(Why{Pod: hostile, Commit: hostile, Owners: []string{hostile}, Reasons: []string{hostile}}),
			} {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			text := out.String()
			if p.Color {
				text = painted.ReplaceAllString(text, "")
			}
			for _, c := range strings.ReplaceAll(text, "\n", "") {
				if unsafe(c) {
					t.Errorf("%s, color %t: holds %q", format, color, c)
					break
				}
			}
			if strings.Contains(text, "\nd") {
				t.Errorf("%s, color %t: a name began a line of its own", format, color)
			}
		}
	}
}

func TestPlainTextIsShownAsItIs(t *testing.T) {
	for _, text := range []string{"", "deployment/web in shop", "grüße, 世界 ✓", `C:\x1b`} {
		if got := Printable(text); got != text {
			t.Errorf("Printable(%q) = %q; want it as it is", text, got)
		}
	}
	if got, want := Printable("a\x1b[2J\n\u202e\xff"), `a\x1b[2J\n\u202e\xff`; got != want {
		t.Errorf("Printable = %q, want %q", got, want)
	}
}

func TestHostileTextDoesNotBecomeMarkup(t *testing.T) {
	plan := planner.Plan{Problems: []planner.Problem{{Text: `<img src=x onerror=alert(1)> \| **bold** ~~gone~~ &lt;b&gt; [link](http://x) https://evil.test www.evil.test`},
		{Text: "\n# title ping @everyone and (@team/all), not app@sha256:12"}}}
	var out bytes.Buffer
	if err := (Printer{Out: &out, Format: Markdown}).Plan("prod", plan); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<img", "**bold**", "~~gone~~", "&lt;b&gt;", "[link](", "\n# title", "https://", "www.", "@everyone", "@team", ` \\| `} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("Markdown holds %q:\n%s", bad, out.String())
		}
	}
	if want := "app@sha256:12"; !strings.Contains(out.String(), want) {
		t.Errorf("Markdown lacks %q:\n%s", want, out.String())
	}
}
