package manifest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"situ.gitops/planner"
	"situ.gitops/sync/manifest"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Every story holds the files of a commit, then "want manifests" (one JSON
// object per line behind its origin) and "want problems" (one per line).
// A folder to follow may stand in the comment: "root: deploy".
func TestStories(t *testing.T) {
	stories, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(stories) == 0 {
		t.Fatalf("stories: %v, %v", stories, err)
	}
	for _, name := range stories {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			story, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tell(t, name, story)
		})
	}
}

func tell(t *testing.T, name string, story *txtar.Archive) {
	t.Helper()
	var files []manifest.File
	want := map[string]string{"want manifests": "", "want problems": ""}
	for _, f := range story.Files {
		if _, ok := want[f.Name]; ok {
			want[f.Name] = string(f.Data)
			continue
		}
		files = append(files, manifest.File{Path: f.Name, Hash: f.Name, Content: unescape(f.Data)})
	}
	parser := manifest.Parser{Root: rootOf(story)}
	manifests, problems := parser.Parse(files)
	got := map[string]string{"want manifests": manifestLines(t, manifests), "want problems": problemLines(problems)}

	again, againProblems := parser.Parse(files)
	if manifestLines(t, again) != got["want manifests"] || problemLines(againProblems) != got["want problems"] {
		t.Errorf("Parse of known content differs from the first:\n%s%s", manifestLines(t, again), problemLines(againProblems))
	}
	if *update {
		rewrite(t, name, story, got)
		return
	}
	for section := range want {
		if got[section] != want[section] {
			t.Errorf("%s:\ngot\n%swant\n%s", section, got[section], want[section])
		}
	}
}

// unescape lets a story show what an editor would not keep: \r, \t, \x00 and the byte order mark.
func unescape(text []byte) []byte {
	rest, ok := bytes.CutPrefix(text, []byte("escaped\n"))
	if !ok {
		return text
	}
	return []byte(strings.NewReplacer(`\r`, "\r", `\t`, "\t", `\0`, "\x00", `\ufeff`, "\ufeff", `\xff`, "\xff", `\u2028`, "\u2028").Replace(string(rest)))
}

func rootOf(story *txtar.Archive) string {
	for line := range strings.Lines(string(story.Comment)) {
		if root, ok := strings.CutPrefix(line, "root: "); ok {
			return strings.TrimSpace(root)
		}
	}
	return ""
}

func manifestLines(t *testing.T, manifests []planner.Manifest) string {
	t.Helper()
	var b strings.Builder
	for _, m := range manifests {
		object, err := json.Marshal(m.Object)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(m.Origin.String() + ": " + m.String() + " " + string(object) + "\n")
	}
	return b.String()
}

func problemLines(problems []planner.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

func TestNoProblemShowsASecretValue(t *testing.T) {
	story, err := txtar.ParseFile("testdata/no_secret_value_is_ever_shown.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range story.Files {
		if strings.HasPrefix(f.Name, "want ") {
			continue
		}
		var parser manifest.Parser
		manifests, problems := parser.Parse([]manifest.File{{Path: f.Name, Content: f.Data}})
		if text := problemLines(problems); len(manifests) > 0 || text == "" || strings.Contains(text, "hunter2") || strings.Contains(text, "31337") {
			t.Errorf("Parse of %s = %d manifests, problems %q, want problems without the value", f.Name, len(manifests), text)
		}
	}
}

func rewrite(t *testing.T, name string, story *txtar.Archive, got map[string]string) {
	t.Helper()
	kept := story.Files[:0]
	for _, f := range story.Files {
		if _, ok := got[f.Name]; !ok {
			kept = append(kept, f)
		}
	}
	story.Files = append(kept,
		txtar.File{Name: "want manifests", Data: []byte(got["want manifests"])},
		txtar.File{Name: "want problems", Data: []byte(got["want problems"])})
	if err := os.WriteFile(name, txtar.Format(story), 0o644); err != nil {
		t.Fatal(err)
	}
}
