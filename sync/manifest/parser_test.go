package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"situ.gitops/planner"
	"situ.gitops/sync/manifest"
)

func configMap(name string) []byte {
	return fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", name)
}

func TestKnownContentNeedNotBeReadAgain(t *testing.T) {
	var parser manifest.Parser
	if parser.Knows("a.yaml", "1") {
		t.Error("Knows before Parse = true, want false")
	}
	parser.Parse([]manifest.File{{Path: "a.yaml", Hash: "1", Content: configMap("a")}})
	if !parser.Knows("moved/b.yaml", "1") || parser.Knows("a.json", "1") {
		t.Error("Knows: want the content known under any YAML name, and not as JSON")
	}
	manifests, problems := parser.Parse([]manifest.File{{Path: "moved/b.yaml", Hash: "1"}})
	if len(manifests) != 1 || len(problems) != 0 || manifests[0].Origin.String() != "moved/b.yaml, document 1" {
		t.Errorf("Parse of a moved file = %v, %v, want its manifest at the new place", manifests, problems)
	}
}

func TestOnlyTheLastCommitIsRemembered(t *testing.T) {
	var parser manifest.Parser
	for i := range 3 {
		parser.Parse([]manifest.File{{Path: "a.yaml", Hash: fmt.Sprint(i), Content: configMap("a")}})
	}
	if parser.Knows("a.yaml", "1") || !parser.Knows("a.yaml", "2") {
		t.Error("Knows: want the last commit's content only")
	}
}

func TestMistakesAreToldAgainForKnownContent(t *testing.T) {
	var parser manifest.Parser
	for round := range 2 {
		_, problems := parser.Parse([]manifest.File{{Path: "a.yaml", Hash: "1", Content: []byte("a: b\n")}})
		if len(problems) != 1 {
			t.Errorf("Parse, round %d: problems = %v, want one", round, problems)
		}
	}
}

func TestFilesAreReadInTheOrderOfTheirPaths(t *testing.T) {
	var parser manifest.Parser
	manifests, _ := parser.Parse([]manifest.File{
		{Path: "b.yaml", Content: configMap("b")},
		{Path: "a/z.yaml", Content: configMap("z")},
		{Path: "a.yaml", Content: configMap("a")},
	})
	var names []string
	for _, m := range manifests {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "a z b" {
		t.Errorf("Parse: order = %q, want %q", got, "a z b")
	}
}

func TestBoundsOfAFileAreTold(t *testing.T) {
	for _, tt := range []struct {
		name, content, want string
	}{
		{"size", strings.Repeat("# no end\n", 1<<20), "it has more than 5 MiB; split it"},
		{"documents", strings.Repeat("---\na: b\n", 2001), "it has more than 2000 documents; split it"},
		{"depth", "apiVersion: v1\nkind: x\na: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), "nested too deeply"},
		{"flow", strings.Repeat("[", 100_000), "it is nested too deeply; write it flatter"},
		{"mistakes", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n" + manyNumbers(500), "there are more mistakes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var parser manifest.Parser
			manifests, problems := parser.Parse([]manifest.File{{Path: "a.yaml", Content: []byte(tt.content)}})
			if len(manifests) != 0 || len(problems) == 0 || len(problems) > 21 {
				t.Fatalf("Parse = %d manifests, %d problems, want none and 1 to 21", len(manifests), len(problems))
			}
			if last := problems[len(problems)-1].Text; !strings.Contains(last, tt.want) {
				t.Errorf("Parse: problem = %q, want %q", last, tt.want)
			}
		})
	}
}

func manyNumbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  key%d: %d\n", i, i)
	}
	return b.String()
}

// The words are the planner's; the place is ours. Only workloads have settings.
func TestMistakesInSettingsAreToldWithTheirPlace(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    situ.gitops/update: Sometimes\nspec: {containers: [{name: a, image: a}]}\n"
	_, mistakes := planner.SettingsOf(planner.Manifest{Object: map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"situ.gitops/update": "Sometimes"}},
	}})
	if len(mistakes) != 1 {
		t.Fatalf("SettingsOf: mistakes = %q, want one", mistakes)
	}
	var parser manifest.Parser
	manifests, problems := parser.Parse([]manifest.File{{Path: "a.yaml", Content: []byte(pod)}})
	want := "a.yaml, document 1: " + mistakes[0] + " (line 5)"
	if len(manifests) != 0 || len(problems) != 1 || problems[0].String() != want {
		t.Errorf("Parse = %v, problems %v, want no manifest and %q", manifests, problems, want)
	}
	service := strings.Replace(strings.Replace(pod, "Pod", "Service", 1), "spec: {containers: [{name: a, image: a}]}", "spec: {}", 1)
	if _, problems := parser.Parse([]manifest.File{{Path: "a.yaml", Content: []byte(service)}}); len(problems) != 0 {
		t.Errorf("Parse of a service with a workload's annotation: problems = %v, want none", problems)
	}
}

func TestDeepJSONIsRefused(t *testing.T) {
	var parser manifest.Parser
	_, problems := parser.Parse([]manifest.File{{Path: "a.json", Content: []byte(strings.Repeat(`{"a":`, 5000))}})
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "nested too deeply") {
		t.Errorf("Parse: problems = %v, want one about nesting", problems)
	}
}

func TestFillingInANamespaceFindsNewTwinsAndEditsNothing(t *testing.T) {
	var parser manifest.Parser
	first := []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n")
	files := []manifest.File{{Path: "a.yaml", Content: first}, {Path: "b.yaml", Content: configMap("a")}}
	manifests, _ := parser.Parse(files)
	if len(manifests) != 2 {
		t.Fatalf("Parse = %v, want two manifests", manifests)
	}
	filled := manifest.InNamespace(manifests[1], "shop")
	if filled.Namespace != "shop" || filled.Object["metadata"].(map[string]any)["namespace"] != "shop" {
		t.Errorf("InNamespace = %v, want namespace shop in both places", filled)
	}
	if manifests[1].Object["metadata"].(map[string]any)["namespace"] != nil {
		t.Error("InNamespace edited the manifest it was handed")
	}
	unique, problems := manifest.Unique([]planner.Manifest{manifests[0], filled})
	if len(unique) != 0 || len(problems) != 1 {
		t.Errorf("Unique = %v, %v, want no manifest and one problem", unique, problems)
	}
}
