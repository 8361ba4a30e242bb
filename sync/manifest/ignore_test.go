package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const aConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: shop}\n"

// Patterns and paths are hostile input: a thousand lines with many stars, and a
// path of a hundred folders, took 22 seconds.
func TestPatternsThatTakeTooLongLeaveTheRestOut(t *testing.T) {
	var patterns strings.Builder
	for i := range maxGlobs {
		fmt.Fprintf(&patterns, "**/*a*a*a*b*/**/z%d\n", i)
	}
	files := []File{{Path: "deploy/.situignore", Content: []byte(patterns.String())}, {Path: "deploy/a.yaml", Content: fmt.Appendf(nil, aConfigMap, "first")}}
	deep := "deploy/" + strings.Repeat(strings.Repeat("a", 100)+"/", 95)
	for i := range 3 {
		files = append(files, File{Path: fmt.Sprintf("%sf%d.yaml", deep, i), Content: fmt.Appendf(nil, aConfigMap, fmt.Sprint("f", i))})
	}
	ignored := &ignoring{folders: map[string]bool{}}
	ignored.globs, _ = parseGlobs(files[0])
	for _, f := range files {
		ignored.matches(f.Path)
	}
	if most := maxEffort + maxEffort/10; ignored.effort > most {
		t.Errorf("%d steps were taken, want at most %d", ignored.effort, most)
	}
	manifests, problems := (&Parser{Root: "deploy"}).Parse(files)
	if len(manifests) != 1 || manifests[0].Name != "first" {
		t.Errorf("%d manifests were read; want the one that was judged in time", len(manifests))
	}
	if len(problems) != 1 || !strings.Contains(problems[0].String(), "deploy/.situignore: its patterns take too long") {
		t.Errorf("problems %v; want one about the patterns", problems)
	}
}

// What a large repository has is far from the bound.
func TestPatternsOfALargeRepositoryAreCheap(t *testing.T) {
	var patterns strings.Builder
	for i := range 100 {
		fmt.Fprintf(&patterns, "*.draft%d.yaml\nold-%d/\napps/*/overlays/test-%d/*.yaml\n", i, i, i)
	}
	ignored := &ignoring{folders: map[string]bool{}}
	ignored.globs, _ = parseGlobs(File{Path: ".situignore", Content: []byte(patterns.String())})
	out := 0
	for app := range 100 {
		for i := range 10 {
			if ignored.matches(fmt.Sprintf("apps/app-%d/overlays/test-%d/deployment.yaml", app, i)) {
				out++
			}
			if ignored.matches(fmt.Sprintf("apps/app-%d/overlays/production/deployment-%d.yaml", app, i)) {
				t.Fatal("a file of production is left out")
			}
		}
	}
	if out != 1000 || ignored.effort > maxEffort/20 {
		t.Errorf("%d files are left out after %d steps, want 1000 after at most a 20th of %d", out, ignored.effort, maxEffort)
	}
}

// As in Git, the last line decides, and nothing comes back below a folder that is out.
func TestPatternsMeanWhatTheyMeanToGit(t *testing.T) {
	for _, tt := range []struct {
		patterns string
		out      []string
	}{
		{"*.tmp.yaml", []string{"a.tmp.yaml", "old/b.tmp.yaml"}},
		{"old/", []string{"old/b.tmp.yaml", "old/keep.yaml", "new/old/c.yaml"}},
		{"/old", []string{"old/b.tmp.yaml", "old/keep.yaml"}},
		{"old/*\n!old/keep.yaml", []string{"old/b.tmp.yaml"}},
		{"old/\n!old/keep.yaml", []string{"old/b.tmp.yaml", "old/keep.yaml", "new/old/c.yaml"}},
		{"new/**/c.yaml", []string{"new/c.yaml", "new/old/c.yaml"}},
		{"**", []string{"a.tmp.yaml", "old/b.tmp.yaml", "old/keep.yaml", "new/c.yaml", "new/old/c.yaml"}},
	} {
		ignored := &ignoring{folders: map[string]bool{}}
		ignored.globs, _ = parseGlobs(File{Path: ".situignore", Content: []byte(tt.patterns)})
		var out []string
		for _, file := range []string{"a.tmp.yaml", "old/b.tmp.yaml", "old/keep.yaml", "new/c.yaml", "new/old/c.yaml"} {
			if ignored.matches(file) {
				out = append(out, file)
			}
		}
		if diff := cmp.Diff(tt.out, out); diff != "" {
			t.Errorf("%q leaves out (-want +got):\n%s", tt.patterns, diff)
		}
	}
}
