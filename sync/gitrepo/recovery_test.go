package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// packs lists the pack files of a cache.
func packs(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "objects-*", "objects", "pack", "*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestCacheIsUsedAgainAfterARestart(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": "1"})
	opts := Options{URL: o.serveHTTP(), Dir: t.TempDir()}
	r := open(t, opts)
	a := pull(t, r)
	if _, err := Open(t.Context(), opts); err == nil {
		t.Error("second Open of the same cache: got no error")
	} else {
		wantText(t, err, "in use by another process")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	b := o.commit("b", map[string]string{"web.yaml": "2"})
	r = open(t, opts)
	if got := contents(t, r, a)["web.yaml"]; got != "1" {
		t.Errorf("after the restart: web.yaml of a is %q", got)
	}
	if c := pull(t, r); c.Hash != b || c.Ancestry != Forward {
		t.Errorf("after the restart: got %+v, want %s, forward", c, b)
	}
}

func TestDamagedCacheIsReplacedByAFreshOne(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": strings.Repeat(t.Name(), 50)})
	url := o.serveHTTP()
	first := func(pattern string, do func(string) error) func(string) error {
		return func(dir string) error {
			names, err := filepath.Glob(filepath.Join(dir, "*", "objects-*", pattern))
			if err != nil || len(names) == 0 {
				return fmt.Errorf("no %s: %v", pattern, err)
			}
			return do(names[0])
		}
	}
	cut := func(name string) error { return errors.Join(os.Chmod(name, 0o600), os.Truncate(name, 60)) }
	for name, damage := range map[string]func(string) error{
		"pack cut short":       first("objects/pack/*.pack", cut),
		"pack gone":            first("objects/pack/*.pack", os.Remove),
		"index cut short":      first("objects/pack/*.idx", cut),
		"index gone":           first("objects/pack/*.idx", os.Remove),
		"list of commits odd":  first("shallow", func(n string) error { return os.WriteFile(n, []byte("12"), 0o600) }),
		"list of commits gone": first("shallow", os.Remove),
		"left by a crash": first("objects/pack", func(n string) error {
			return errors.Join(os.WriteFile(filepath.Join(n, "tmp_pack_1"), []byte("PA"), 0o600),
				os.WriteFile(filepath.Join(n, "pack-00.idx"), nil, 0o600),
				os.MkdirAll(filepath.Join(n, "..", "..", "..", "objects-999999999"), 0o700))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{URL: url, Dir: t.TempDir()}
			r := open(t, opts)
			pull(t, r)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if err := damage(opts.Dir); err != nil {
				t.Fatal(err)
			}
			r = open(t, opts)
			if got := contents(t, r, pull(t, r))["web.yaml"]; got != strings.Repeat(t.Name()[:len("TestDamagedCacheIsReplacedByAFreshOne")], 50) {
				t.Errorf("web.yaml of %s is %q", c, got)
			}
			if dirs, _ := filepath.Glob(filepath.Join(opts.Dir, "*", "objects-*")); len(dirs) != 1 {
				t.Errorf("got %d generations, want 1: %q", len(dirs), dirs)
			}
		})
	}
}

func TestDiskThatFailsWhileRunningHealsWithTheNextFetch(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": "1", "big.yaml": strings.Repeat(t.Name(), 50)})
	opts := Options{URL: o.serveHTTP(), Dir: t.TempDir()}
	r := open(t, opts)
	a := pull(t, r)
	for _, p := range packs(t, opts.Dir) {
		if err := errors.Join(os.Chmod(p, 0o600), os.Truncate(p, 20)); err != nil {
			t.Fatal(err)
		}
	}
	r.store.Storer = diskStore(r.store.base, r.store.dir).Storer // without its memory of objects
	if _, err := r.Files(t.Context(), a); err == nil {
		t.Fatal("Files from a cut pack: got no error")
	}
	if got := contents(t, r, pull(t, r)); len(got) != 2 {
		t.Errorf("after the next fetch: got %d files, want 2", len(got))
	}
}

func TestStoreOfManyPacksIsCompactedWithoutLosingTheNewest(t *testing.T) {
	o := newOrigin(t)
	url := o.serveHTTP()
	for _, dir := range []string{"", t.TempDir()} {
		o.commit("0", map[string]string{"web.yaml": "0", "same.yaml": "same"})
		r := open(t, Options{URL: url, Dir: dir})
		old := pull(t, r)
		var before, now Commit
		for i := range 5 {
			before = now
			o.commit(fmt.Sprint(i), map[string]string{"web.yaml": fmt.Sprint("v", i)})
			if i == 4 {
				r.store.packs = maxPacks - 1
			}
			now = pull(t, r)
		}
		if r.store.packs > 1 {
			t.Errorf("%d packs are left, want 1", r.store.packs)
		}
		if got := contents(t, r, now); got["web.yaml"] != "v4" || got["same.yaml"] != "same" {
			t.Errorf("newest commit: got %v", got)
		}
		if got, err := r.Changed(t.Context(), before, now); err != nil || len(got) != 1 {
			t.Errorf("Changed to the newest: got %v, %v, want web.yaml", got, err)
		}
		if _, err := r.Files(t.Context(), old); !errors.Is(err, ErrNotHeld) {
			t.Errorf("Files of a commit long past: got %v, want ErrNotHeld", err)
		}
		if dir != "" && len(packs(t, dir)) != 1 {
			t.Errorf("on disk: %q, want one pack", packs(t, dir))
		}
		o.commit("next", map[string]string{"web.yaml": "next"})
		if got := contents(t, r, pull(t, r))["web.yaml"]; got != "next" {
			t.Errorf("fetch after compacting: got %q", got)
		}
	}
}

// deaf ignores its context, as parts of Git work do.
type deaf struct {
	remote
	until chan struct{}
}

func (d deaf) read(ctx context.Context) (transport.UploadPackSession, error) {
	<-d.until
	return nil, errors.New("too late")
}

func TestWorkThatIgnoresItsContextIsLeftAlone(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": "1"})
	for _, dir := range []string{"", t.TempDir()} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			leaveAlone(t, open(t, Options{URL: o.bare, Dir: dir}))
		})
	}
}

func leaveAlone(t *testing.T, r *Repo) {
	a := pull(t, r)
	real := r.remote
	r.opts.Timeout = 50 * time.Millisecond
	until := make(chan struct{})
	defer close(until)
	r.remote = deaf{real, until}
	start := time.Now()
	_, err := r.Fetch(t.Context(), Head{Hash: strings.Repeat("1", 40)})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*grace {
		t.Errorf("Fetch: got %v after %v, want the deadline", err, time.Since(start))
	}
	r.remote = real
	if got := contents(t, r, a)["web.yaml"]; got != "1" {
		t.Errorf("last good commit: web.yaml is %q", got)
	}
	r.opts.Timeout = time.Minute
	if c := pull(t, r); c.Hash != a.Hash || c.Ancestry != Same {
		t.Errorf("next fetch: got %+v, want %s again", c, a.Hash)
	}
}

func TestRepositoryOnDiskIsReadWhateverItsShape(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	root := t.TempDir()
	o.git("worktree", "add", "-q", filepath.Join(root, "linked"), "-b", "linked")
	o.gitIn(root, "clone", "-q", "--shared", "--bare", o.bare, "shared.git")
	o.gitIn(root, "clone", "-q", "--bare", o.bare, "packed.git")
	o.gitIn(filepath.Join(root, "packed.git"), "gc", "-q", "--prune=now")
	o.gitIn(filepath.Join(root, "packed.git"), "pack-refs", "--all")
	for _, path := range []string{o.work, filepath.Join(root, "linked"), filepath.Join(root, "shared.git"), filepath.Join(root, "packed.git")} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			r := open(t, noted(o, path, filepath.Base(path)))
			if got := pull(t, r); got.Hash != c {
				t.Errorf("got %s, want %s", got.Hash, c)
			}
			writeLine(t, r, c, "one")
			o.gitIn(path, "pack-refs", "--all")
			writeLine(t, r, c, "two")
			if got := o.gitIn(path, "notes", "--ref=situ/"+filepath.Base(path), "show", c); got != "one\ntwo" {
				t.Errorf("note: %q", got)
			}
		})
	}
	_, err := open(t, Options{URL: root}).Poll(t.Context())
	wantText(t, err, root, "repository not found")
}
