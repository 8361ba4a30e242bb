package gitrepo

import (
	"errors"
	"maps"
	"slices"
	"testing"
)

// ways opens the same repository over every transport, with stores in memory
// and on disk.
func ways(t *testing.T, o *origin, do func(t *testing.T, opts Options)) {
	host, _ := newSigner(t, "ed25519")
	user, pemKey := newSigner(t, "ed25519")
	server := serveSSH(t, user.PublicKey(), host)
	all := map[string]Options{
		"path": {URL: o.bare},
		"file": {URL: "file://" + o.bare},
		"http": {URL: o.serveHTTP()},
		"ssh": {URL: "ssh://git@" + server.addr + o.bare,
			Auth: Auth{SSHKey: pemKey, KnownHosts: []byte(knownLineOf(server.addr, host.PublicKey()))}},
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		opts := all[name]
		if name == "file" || name == "http" {
			opts.Dir = t.TempDir()
		}
		t.Run(name, func(t *testing.T) { do(t, opts) })
	}
}

func TestEveryTransportBringsCommitsAndNotes(t *testing.T) {
	o := newOrigin(t)
	first := o.commit("first\n\nbody", map[string]string{"app/web.yaml": "a: 1\n", "app/sub/x.json": "{}\n", "other/no.yaml": "b: 1\n", "README.md": "hi\n"})
	ways(t, o, func(t *testing.T, opts Options) {
		opts.Path = "app"
		opts.Notes.Cluster = "c-" + t.Name()
		o.git("push", "-q", "-f", "origin", first+":refs/heads/main")
		o.git("reset", "-q", "--hard", first)
		r := open(t, opts)
		a := pull(t, r)
		if a.Hash != first || a.Author != "Ada" || a.Subject != "first" || a.Time.IsZero() || a.Ancestry != Unknown {
			t.Errorf("Fetch: got %+v, want commit %s, Ada's, named first", a, first)
		}
		if got, want := a.Tree, o.git("rev-parse", first+":app"); got != want {
			t.Errorf("Fetch: tree %s, want that of app, %s", got, want)
		}
		want := map[string]string{"app/web.yaml": "a: 1\n", "app/sub/x.json": "{}\n"}
		if got := contents(t, r, a); !maps.Equal(got, want) {
			t.Errorf("Files: got %v, want %v", got, want)
		}

		second := o.commit("second", map[string]string{"app/web.yaml": "a: 2\n", "app/new.yml": "c: 1\n", "app/sub": "", "other/no.yaml": "b: 2\n"})
		b := pull(t, r)
		if b.Hash != second || b.Ancestry != Forward || b.Previous != first {
			t.Errorf("second Fetch: got %+v, want %s, forward from %s", b, second, first)
		}
		changed, err := r.Changed(t.Context(), a, b)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"app/new.yml", "app/sub/x.json", "app/web.yaml"}; !slices.Equal(changed, want) {
			t.Errorf("Changed: got %v, want %v", changed, want)
		}

		for _, text := range []string{"planned\n", "applied\n"} {
			if err := r.WriteNote(t.Context(), second, func(now []byte) []byte { return append(now, text...) }); err != nil {
				t.Fatalf("WriteNote: %v", err)
			}
		}
		got, ok, err := open(t, opts2(opts)).ReadNote(t.Context(), second)
		if err != nil || !ok || string(got) != "planned\napplied\n" {
			t.Errorf("ReadNote: got %q, %v, %v, want both lines", got, ok, err)
		}
		if got := o.gitIn(o.bare, "notes", "--ref", r.notes.ref.String(), "show", second); got != "planned\napplied" {
			t.Errorf("git notes show: got %q", got)
		}
		o.gitIn(o.bare, "fsck", "--strict")
	})
}

// opts2 is the same remote seen by a second, fresh instance.
func opts2(o Options) Options {
	o.Dir = ""
	return o
}

func TestHeadIsUnknownWithoutACommitAndKnownAgainLater(t *testing.T) {
	o := newOrigin(t)
	ways(t, o, func(t *testing.T, opts Options) {
		for _, ref := range []string{"refs/heads/main", "refs/heads/other"} {
			o.gitIn(o.bare, "update-ref", "-d", ref)
		}
		r := open(t, opts)
		if _, err := r.Poll(t.Context()); !errors.Is(err, ErrHeadUnknown) {
			t.Fatalf("Poll of an empty remote: got %v, want ErrHeadUnknown", err)
		}
		a := o.commit("a", map[string]string{"web.yaml": t.Name()})
		if got := pull(t, r); got.Hash != a {
			t.Fatalf("after the first push: got %s, want %s", got.Hash, a)
		}
		o.git("push", "-q", "origin", "HEAD:refs/heads/other")
		o.gitIn(o.bare, "update-ref", "-d", "refs/heads/main")
		if _, err := r.Poll(t.Context()); !errors.Is(err, ErrHeadUnknown) {
			t.Fatalf("Poll with the branch gone: got %v, want ErrHeadUnknown", err)
		}
		if got := contents(t, r, Commit{Hash: a}); got["web.yaml"] != t.Name() {
			t.Errorf("Files of the last good commit: got %v", got)
		}
		b := o.commit("b", map[string]string{"web.yaml": t.Name() + "2"})
		if got := pull(t, r); got.Hash != b || got.Previous != a {
			t.Errorf("with the branch back: got %+v, want %s after %s", got, b, a)
		}
	})
}
