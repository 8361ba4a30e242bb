package gitrepo

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLocalRevisionsAreReadFromAnyFolderOfTheWorkTree(t *testing.T) {
	o := newOrigin(t)
	a := o.commit("a", map[string]string{"app/web.yaml": "1", "other.yaml": "x"})
	o.git("tag", "-a", "-m", "v1", "v1")
	b := o.commit("b", map[string]string{"app/web.yaml": "2"})
	o.git("branch", "side", a)
	o.write(map[string]string{"app/web.yaml": "not committed"})
	shared := filepath.Join(t.TempDir(), "shared")
	o.gitIn(o.work, "clone", "-q", "--shared", o.bare, shared)
	for _, dir := range []string{o.work, filepath.Join(o.work, "app"), o.bare, shared} {
		l, err := OpenLocal(dir)
		if err != nil {
			t.Fatalf("OpenLocal(%s): %v", dir, err)
		}
		defer l.Close()
		revs := map[string]string{"HEAD": b, "main": b, "HEAD~1": a, b: b, "main^": a}
		if dir != o.bare && dir != shared {
			revs["side"], revs["v1"], revs[a[:10]] = a, a, a
		}
		for rev, want := range revs {
			c, err := l.Resolve(t.Context(), rev, "app")
			if err != nil || c.Hash != want || c.Tree == "" {
				t.Errorf("Resolve(%s) in %s: got %+v, %v, want %s", rev, dir, c, err, want)
				continue
			}
			files, err := l.Files(t.Context(), c, "app")
			if err != nil || len(files.Files) != 1 || files.Files[0].Path != "app/web.yaml" {
				t.Errorf("Files(%s): got %+v, %v, want app/web.yaml", rev, files, err)
				continue
			}
			text := map[string]string{a: "1", b: "2"}[want]
			if got, err := files.Files[0].Content(t.Context()); err != nil || string(got) != text {
				t.Errorf("Content at %s: got %q, %v, want %q", rev, got, err, text)
			}
		}
		_, err = l.Resolve(t.Context(), "nowhere", "")
		wantText(t, err, `"nowhere"`, "no such branch, tag or commit")
		c, err := l.Resolve(t.Context(), "HEAD", "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Files(t.Context(), c, "prod")
		wantText(t, err, `no folder "prod"`)
	}
	empty := t.TempDir()
	if _, err := OpenLocal(empty); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenLocal of no repository: got %v", err)
	}
}
