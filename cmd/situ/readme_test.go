package main

import (
	"os"
	"strings"
	"testing"

	"situ.gitops/cmd/situ/report"
	"situ.gitops/planner"
)

const readme = "../../README.md"

func TestReadmeShowsTheRulesAsTheyAre(t *testing.T) {
	content, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opens := strings.Cut(string(content), "<!-- rules -->\n")
	shown, after, closes := strings.Cut(rest, "<!-- /rules -->")
	if !opens || !closes {
		t.Fatalf("%s has no <!-- rules --> ... <!-- /rules --> to hold the table", readme)
	}
	var table strings.Builder
	if err := (report.Printer{Out: &table, Format: report.Markdown}).Rules(planner.Rules()); err != nil {
		t.Fatal(err)
	}
	want := "\n" + table.String() + "\n"
	if *update {
		if err := os.WriteFile(readme, []byte(before+"<!-- rules -->\n"+want+"<!-- /rules -->"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != want {
		t.Errorf("the rule table of %s is not that of the planner; run: go test ./cmd/situ -run Readme -update", readme)
	}
}
