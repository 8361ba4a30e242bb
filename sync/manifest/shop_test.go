package manifest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"situ.gitops/sync/manifest"
)

const shop = "../../examples/shop"

func TestTheShopParses(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(shop, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var files []manifest.File
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(content), "# ") {
			t.Errorf("%s starts without a comment for newcomers", path)
		}
		files = append(files, manifest.File{Path: filepath.Base(path), Content: content})
	}
	var parser manifest.Parser
	manifests, problems := parser.Parse(files)
	if len(problems) > 0 {
		t.Errorf("Parse: problems = %v, want none", problems)
	}
	var got []string
	for _, m := range manifests {
		got = append(got, m.String())
	}
	want := []string{
		"daemonset/agent in shop", "statefulset/cache in shop", "service/cache in shop", "namespace/shop", "pod/oneoff in shop",
		"configmap/settings in shop", "deployment/web in shop", "service/web in shop", "replicaset/worker in shop",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Parse: objects = %q, want %q", got, want)
	}
}
