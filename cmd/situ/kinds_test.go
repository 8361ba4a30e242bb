package main

import (
	"os"
	"strings"
	"testing"

	"situ.gitops/cmd/situ/report"
	"situ.gitops/planner/kruise"
)

const kindsPage = "../../planner/kruise/README.md"

func TestTheKindsPageShowsTheFieldsAsTheyAre(t *testing.T) {
	content, err := os.ReadFile(kindsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, shown, ok := strings.Cut(string(content), "<!-- fields -->\n")
	if !ok {
		t.Fatalf("%s has no <!-- fields --> to hold the table", kindsPage)
	}
	var table strings.Builder
	if err := (report.Printer{Out: &table, Format: report.Markdown}).Fields(kruise.Fields()); err != nil {
		t.Fatal(err)
	}
	want := "\n" + table.String()
	if *update {
		if err := os.WriteFile(kindsPage, []byte(before+"<!-- fields -->\n"+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != want {
		t.Errorf("%s is not what the kinds are; run: go test ./cmd/situ -run Kinds -update", kindsPage)
	}
}
