package gitrepo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOddEntriesAreReportedAndNeverRead(t *testing.T) {
	o := newOrigin(t)
	o.write(map[string]string{
		"ok.yaml":           "a: 1\n",
		"win.yaml":          "a: 1\r\n",
		"run.yaml":          "x: 1\n",
		"lfs.yaml":          "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
		"big.json":          strings.Repeat("x", 3000),
		".hidden/tool.yaml": "tool: 1\n",
		".dot.yaml":         "tool: 1\n",
		"notes.txt":         "text",
	})
	for link, target := range map[string]string{"link.yaml": "/etc/passwd", "inner.yaml": "ok.yaml", "dir": "..", ".dotlink": "x"} {
		if err := os.Symlink(target, filepath.Join(o.work, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(o.work, "run.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	o.git("add", ".")
	o.git("update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,vendor")
	o.git("commit", "-q", "-m", "odd")
	o.git("push", "-q", "origin", "main")
	ways(t, o, func(t *testing.T, opts Options) {
		opts.MaxFileBytes = 2000
		r := open(t, opts)
		c := pull(t, r)
		files, err := r.Files(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, f := range files.Files {
			data, err := f.Content(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s %q\n", f.Path, data)
		}
		for _, s := range files.Skipped {
			fmt.Fprintf(&got, "%s: %s\n", s.Path, s.Reason)
		}
		want := `ok.yaml "a: 1\n"
run.yaml "x: 1\n"
win.yaml "a: 1\r\n"
big.json: 3000 bytes, more than the limit of 2000
dir: symlink not followed
inner.yaml: symlink not followed
lfs.yaml: Git LFS pointer; the content is not in Git, so store this file without LFS
link.yaml: symlink not followed
vendor: submodule ignored
`
		if got.String() != want {
			t.Errorf("Files: got\n%swant\n%s", got.String(), want)
		}
	})
}

// plant commits a tree made entry by entry, which git itself would not make.
func (o *origin) plant(raw string) string {
	o.t.Helper()
	path := filepath.Join(o.t.TempDir(), "tree")
	if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
		o.t.Fatal(err)
	}
	tree := o.gitIn(o.bare, "hash-object", "-t", "tree", "-w", "--literally", path)
	c := o.gitIn(o.bare, "commit-tree", "-m", "planted", tree)
	o.gitIn(o.bare, "update-ref", "refs/heads/main", c)
	return c
}

func TestTreesThatLeadElsewhereAreRefusedAsAWhole(t *testing.T) {
	o := newOrigin(t)
	good := o.commit("good", map[string]string{"web.yaml": "1", "d/x.yaml": "1"})
	blob := string(hexBytes(o.git("rev-parse", good+":web.yaml")))
	tree := string(hexBytes(o.git("rev-parse", good+"^{tree}")))
	sub := string(hexBytes(o.gitIn(o.bare, "hash-object", "-t", "tree", "-w", "--literally", writeTemp(t, "40000 ..\x00"+tree))))
	url := o.serveHTTP()
	for name, raw := range map[string]string{
		"..":      "40000 ..\x00" + tree + "100644 web.yaml\x00" + blob,
		"nested":  "40000 sub\x00" + sub + "100644 web.yaml\x00" + blob,
		".":       "100644 .\x00" + blob,
		".git":    "40000 .GiT\x00" + tree,
		"a/b":     "100644 a/b.yaml\x00" + blob,
		"twice":   "100644 web.yaml\x00" + blob + "100755 web.yaml\x00" + blob,
		"missing": "100644 web.yaml\x00" + strings.Repeat("\x11", 20),
	} {
		t.Run(name, func(t *testing.T) {
			for _, opts := range []Options{{URL: o.bare}, {URL: url, Dir: t.TempDir()}} {
				o.gitIn(o.bare, "update-ref", "refs/heads/main", good)
				r := open(t, opts)
				base := pull(t, r)
				bad := o.plant(raw)
				head, err := r.Poll(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if c, err := r.Fetch(t.Context(), head); err == nil {
					t.Fatalf("Fetch of %s: got %+v, want it refused", name, c)
				}
				if _, err := r.Files(t.Context(), Commit{Hash: bad}); !errors.Is(err, ErrNotHeld) {
					t.Errorf("Files of the refused commit: got %v, want ErrNotHeld", err)
				}
				if _, err := r.Files(t.Context(), base); err != nil {
					t.Errorf("Files of the last good commit: %v", err)
				}
				o.gitIn(o.bare, "update-ref", "refs/heads/main", good)
				if c := pull(t, r); c.Hash != good {
					t.Errorf("after the fix: got %s, want %s", c.Hash, good)
				}
			}
		})
	}
}

func TestTreeThatUnfoldsWithoutEndIsStoppedByTheFileLimit(t *testing.T) {
	o := newOrigin(t)
	good := o.commit("good", map[string]string{"web.yaml": "1"})
	h := o.git("rev-parse", good+"^{tree}")
	for range 12 { // 10^12 files in 12 trees
		var raw strings.Builder
		for i := range 10 {
			fmt.Fprintf(&raw, "40000 d%d\x00%s", i, hexBytes(h))
		}
		h = o.gitIn(o.bare, "hash-object", "-t", "tree", "-w", "--literally", writeTemp(t, raw.String()))
	}
	o.gitIn(o.bare, "update-ref", "refs/heads/main", o.gitIn(o.bare, "commit-tree", "-m", "bomb", h))
	r := open(t, Options{URL: o.serveHTTP(), MaxFiles: 1000})
	_, err := r.Files(t.Context(), pull(t, r))
	wantText(t, err, "more than 1000 files", "narrow the path")
}

func TestTheIgnoreFileOfThePathIsHandedOver(t *testing.T) {
	o := newOrigin(t)
	o.commit("ignore", map[string]string{
		"deploy/.situignore": "values.yaml", "deploy/web.yaml": "1", "deploy/inner/.situignore": "x", "deploy/.hidden.yaml": "2", ".situignore": "y",
	})
	ways(t, o, func(t *testing.T, opts Options) {
		opts.Path = "deploy"
		r := open(t, opts)
		got := contents(t, r, pull(t, r))
		if len(got) != 2 || got["deploy/.situignore"] != "values.yaml" || got["deploy/web.yaml"] != "1" {
			t.Errorf("files below deploy: %v, want its .situignore and web.yaml", got)
		}
	})
}
