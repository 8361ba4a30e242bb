package poller

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"situ.gitops/sync/gitrepo"
	"situ.gitops/sync/manifest"
)

// A folder without manifests is more often a wrong path than a wish: it is told,
// and never passes for a commit that is settled.
func TestAPathWithoutManifestsIsAProblem(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty/README.txt": "no manifest", "full/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "start"}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	for path, want := range map[string]string{"empty": `the folder "empty" holds no manifest`, "full": "", "": ""} {
		repo, err := gitrepo.Open(t.Context(), gitrepo.Options{URL: dir, Path: path})
		if err != nil {
			t.Fatal(err)
		}
		source := &Git{Repo: repo, Parser: &manifest.Parser{Root: path}, Path: path}
		head, err := source.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rev, err := source.Read(t.Context(), head)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && len(rev.Problems) > 0 || want != "" && (len(rev.Problems) != 1 || !strings.HasPrefix(rev.Problems[0].Text, want)) {
			t.Errorf("path %q: problems are %v, want %q", path, rev.Problems, want)
		}
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	}
}
