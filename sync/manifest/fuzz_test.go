package manifest_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/util/validation"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"situ.gitops/planner"
	"situ.gitops/sync/manifest"
)

// FuzzParse promises for every input: no panic, the same answer twice, no
// manifest without kind and name, and nothing that the API machinery's own
// strict decoder would refuse.
func FuzzParse(f *testing.F) {
	stories, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range stories {
		story, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range story.Files {
			f.Add(unescape(file.Data), filepath.Ext(file.Name) == ".json")
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, asJSON bool) {
		file := manifest.File{Path: "a.yaml", Content: content}
		if asJSON {
			file.Path = "a.json"
		}
		var parser manifest.Parser
		manifests, problems := parser.Parse([]manifest.File{file})
		again, againProblems := parser.Parse([]manifest.File{file})
		if !reflect.DeepEqual(manifests, again) || !reflect.DeepEqual(problems, againProblems) {
			t.Errorf("Parse twice differs:\n%v %v\n%v %v", manifests, problems, again, againProblems)
		}
		for _, m := range manifests {
			checkManifest(t, m)
		}
		for _, p := range problems {
			if p.Text == "" {
				t.Errorf("Parse: problem without a text at %v", p.Origin)
			}
		}
	})
}

func checkManifest(t *testing.T, m planner.Manifest) {
	t.Helper()
	if m.APIVersion == "" || m.Kind == "" || m.Name == "" {
		t.Errorf("Parse gave %+v, want apiVersion, kind and name", m.Ref)
	}
	if m.Namespace != "" && len(validation.IsDNS1123Label(m.Namespace)) > 0 {
		t.Errorf("Parse gave namespace %q, want a DNS label", m.Namespace)
	}
	text, err := json.Marshal(m.Object)
	if err != nil {
		t.Fatalf("Parse gave an object that is no JSON: %v", err)
	}
	if typed := typeOf(m.Ref); typed != nil {
		strict, err := strictjson.UnmarshalStrict(text, typed)
		if err != nil || len(strict) > 0 {
			t.Errorf("Parse took what the strict decoder refuses: %v, %v\n%s", err, strict, text)
		}
	}
}

func typeOf(ref planner.Ref) any {
	switch ref.APIVersion + " " + ref.Kind {
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}
	case "v1 ConfigMap":
		return &corev1.ConfigMap{}
	case "v1 Secret":
		return &corev1.Secret{}
	case "v1 Service":
		return &corev1.Service{}
	case "v1 Pod":
		return &corev1.Pod{}
	}
	return nil
}

// FuzzScalarsMeanWhatTheyMeanToKubectl compares with the decoder kubectl uses.
func FuzzScalarsMeanWhatTheyMeanToKubectl(f *testing.F) {
	for _, s := range []string{"yes", "0777", "1_000", "1e3", "2.0", "-0", "+1", "0x1F", "0b2", "1:30", "2001-01-01T00:00:00Z",
		"~", ".5", "._5", ".inf", "1e400", "18446744073709551616", "9223372036854775808", "-.5e-3", "0o17", "=", "text", "'q'", `"\u00e9"`, "1.", "0_", "_1", "089223372036854775", "-0.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, scalar string) {
		if strings.HasPrefix(strings.TrimSpace(scalar), "!") {
			return // of a lone "!" the two make different things, and nobody writes it
		}
		content := []byte("apiVersion: example.org/v1\nkind: Words\nmetadata: {name: w}\nspec:\n  list:\n  - k: " + scalar + "\n")
		var parser manifest.Parser
		manifests, problems := parser.Parse([]manifest.File{{Path: "a.yaml", Content: content}})
		if len(manifests) != 1 || len(problems) > 0 {
			return
		}
		var want map[string]any
		text, err := yaml.YAMLToJSON(content)
		if err != nil {
			return // its parser is older and refuses some that ours reads
		}
		if err := strictjson.UnmarshalCaseSensitivePreserveInts(text, &want); err != nil {
			t.Fatal(err)
		}
		got := manifests[0].Object
		if !reflect.DeepEqual(got, dropNulls(want)) {
			t.Errorf("Parse of %q = %v, want %v", scalar, got, want)
		}
	})
}

func dropNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if item == nil {
				delete(v, k)
				continue
			}
			dropNulls(item)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
	return v
}
