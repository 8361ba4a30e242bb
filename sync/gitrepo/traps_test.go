package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestForcePushBackIsFollowedAndNamedRewritten(t *testing.T) {
	o := newOrigin(t)
	ways(t, o, func(t *testing.T, opts Options) {
		o.git("checkout", "-q", "--orphan", "main-"+strings.ReplaceAll(t.Name(), "/", "-"))
		opts.Branch = o.git("symbolic-ref", "--short", "HEAD")
		a := o.commit("a", map[string]string{"web.yaml": "1"})
		r := open(t, opts)
		pull(t, r)
		b := o.commit("b", map[string]string{"web.yaml": "2"})
		pull(t, r)

		o.git("reset", "-q", "--hard", a)
		o.git("push", "-q", "-f", "origin", "HEAD")
		c := pull(t, r)
		if c.Hash != a || c.RewrittenFrom() != b {
			t.Fatalf("after push back: got %s rewritten from %q, want %s from %s", c.Hash, c.RewrittenFrom(), a, b)
		}
		if got := contents(t, r, c)["web.yaml"]; got != "1" {
			t.Errorf("after push back: web.yaml is %q, want 1", got)
		}
		next := o.commit("c", map[string]string{"web.yaml": "3"})
		if c := pull(t, r); c.Hash != next || c.Ancestry != Forward {
			t.Errorf("commit on top of the old one: got %+v, want %s, forward", c, next)
		}

		o.git("checkout", "-q", "--orphan", "tmp-"+opts.Branch)
		root := o.commit("unrelated", map[string]string{"web.yaml": "4"})
		o.git("push", "-q", "-f", "origin", "HEAD:"+opts.Branch)
		c = pull(t, r)
		if c.Hash != root || c.RewrittenFrom() != next {
			t.Errorf("unrelated root: got %s rewritten from %q, want %s from %s", c.Hash, c.RewrittenFrom(), root, next)
		}
		if got := contents(t, r, c)["web.yaml"]; got != "4" {
			t.Errorf("unrelated root: web.yaml is %q, want 4", got)
		}
	})
}

func TestAncestryIsToldOverSeveralCommits(t *testing.T) {
	o := newOrigin(t)
	o.commit("root", map[string]string{"web.yaml": "0"})
	o.env = []string{"GIT_COMMITTER_DATE=2020-01-01T00:00:00Z"}
	for i := range 60 { // more than lookBack, so that the edge is seen
		o.git("commit", "-q", "--allow-empty", "-m", fmt.Sprint("old ", i))
	}
	o.env = nil
	base := o.commit("base", map[string]string{"web.yaml": "1"})
	ways(t, o, func(t *testing.T, opts Options) {
		o.git("reset", "-q", "--hard", base)
		o.git("push", "-q", "-f", "origin", "HEAD:main")
		r := open(t, opts)
		pull(t, r)
		o.git("commit", "-q", "--allow-empty", "-m", "one")
		o.git("commit", "-q", "--allow-empty", "-m", "two")
		three := o.commit("three", map[string]string{"web.yaml": "2"})
		if c := pull(t, r); c.Hash != three || c.Ancestry != Forward {
			t.Errorf("three commits on: got %q, want %q", c.Ancestry, Forward)
		}
		// Dates decide where the history that is fetched ends.
		o.git("reset", "-q", "--hard", base+"~1")
		amended := o.commit("amended", map[string]string{"web.yaml": "3"})
		c := pull(t, r)
		if c.Hash != amended || c.RewrittenFrom() != three {
			t.Errorf("amended: got %s, %q, want %s, rewritten from %s", c.Hash, c.Ancestry, amended, three)
		}
	})
}

func TestPreviousGivenByTheCallerSurvivesARestart(t *testing.T) {
	o := newOrigin(t)
	a := o.commit("a", map[string]string{"web.yaml": "1"})
	b := o.commit("b", map[string]string{"web.yaml": "2"})
	o.git("push", "-q", "-f", "origin", a+":main")
	r := open(t, Options{URL: o.serveHTTP()})
	head, err := r.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	head.Previous = b
	c, err := r.Fetch(t.Context(), head)
	if err != nil || c.RewrittenFrom() != b {
		t.Errorf("Fetch: got rewritten from %q, %v, want %s", c.RewrittenFrom(), err, b)
	}
}

func TestTagsAreFollowedToTheirCommit(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	o.git("tag", "light")
	o.git("tag", "-a", "-m", "annotated", "heavy")
	o.git("push", "-q", "origin", "--tags")
	o.commit("b", map[string]string{"web.yaml": "2"})
	ways(t, o, func(t *testing.T, opts Options) {
		for _, tag := range []string{"light", "heavy"} {
			opts := opts
			opts.Tag = tag
			opts.Dir = ""
			if got := pull(t, open(t, opts)); got.Hash != c {
				t.Errorf("tag %s: got %s, want %s", tag, got.Hash, c)
			}
		}
	})
}

func TestExactCommitIsFoundWhereServersGiveOutOnlyTips(t *testing.T) {
	o := newOrigin(t)
	first := o.commit("first", map[string]string{"web.yaml": "1"})
	for i := range 55 { // beyond the first depth that is tried
		o.git("commit", "-q", "--allow-empty", "-m", fmt.Sprint(i))
	}
	o.commit("tip", map[string]string{"web.yaml": "2"})
	o.git("checkout", "-q", "--orphan", "side")
	side := o.commit("side", map[string]string{"web.yaml": "3"})
	ways(t, o, func(t *testing.T, opts Options) {
		opts.Commit = first
		r := open(t, opts)
		c := pull(t, r)
		if c.Hash != first || contents(t, r, c)["web.yaml"] != "1" {
			t.Errorf("Fetch: got %s, want %s", c.Hash, first)
		}
		if opts.URL == o.bare || strings.HasPrefix(opts.URL, "file:") {
			return // a path has no tips-only rule
		}
		opts.Commit, opts.Branch = strings.Repeat("12", 20), "main"
		_, err := open(t, opts2(opts)).Fetch(t.Context(), Head{Hash: opts.Commit})
		wantText(t, err, opts.Commit[:12], "not part of branch main")
		opts.Commit, opts.Branch = side, "side"
		if c := pull(t, open(t, opts2(opts))); c.Hash != side {
			t.Errorf("tip of another branch: got %s", c.Hash)
		}
	})
}

func TestHeadThatMovedBeforeTheFetchSaysSo(t *testing.T) {
	o := newOrigin(t)
	a := o.commit("a", map[string]string{"web.yaml": "1"})
	r := open(t, Options{URL: o.serveHTTP()})
	head, err := r.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.git("commit", "-q", "--amend", "-m", "b")
	o.git("push", "-q", "-f", "origin", "HEAD")
	_, err = r.Fetch(t.Context(), head)
	wantText(t, err, a[:12], "refs/heads/main", "moved", "next poll")
	if c := pull(t, r); c.Hash == a {
		t.Error("the next poll still finds the old head")
	}
}

func TestSHA256RepositoryIsNamedAsSuch(t *testing.T) {
	o := newOrigin(t, "--object-format=sha256")
	o.commit("a", map[string]string{"web.yaml": "1"})
	ways(t, o, func(t *testing.T, opts Options) {
		_, err := open(t, opts).Poll(t.Context())
		if !errors.Is(err, ErrObjectFormat) {
			t.Errorf("Poll: got %v, want ErrObjectFormat", err)
		}
		wantText(t, err, "SHA-256", "--object-format=sha1")
	})
	_, err := OpenLocal(o.work)
	if !errors.Is(err, ErrObjectFormat) {
		t.Errorf("OpenLocal: got %v, want ErrObjectFormat", err)
	}
}

func TestMissingFolderIsAnErrorAndNotNothing(t *testing.T) {
	o := newOrigin(t)
	o.commit("a", map[string]string{"web.yaml": "1"})
	r := open(t, Options{URL: o.bare, Path: "prod"})
	c := pull(t, r)
	if c.Tree != "" {
		t.Errorf("Fetch: tree %q, want none", c.Tree)
	}
	_, err := r.Files(t.Context(), c)
	wantText(t, err, c.Hash[:12], `no folder "prod"`, "correct the path")
}

func TestOptionsThatCannotWorkAreRefusedBeforeAnyRequest(t *testing.T) {
	for _, tt := range []struct {
		opts Options
		want string
	}{
		{Options{}, "no repository URL"},
		{Options{URL: "git://host/x"}, `scheme "git" is not supported`},
		{Options{URL: "https://u:hunter22@/x"}, "names no host"},
		{Options{URL: "/x", Branch: "a", Tag: "b"}, "exclude each other"},
		{Options{URL: "/x", Commit: "abc"}, "not a full hash"},
		{Options{URL: "/x", Branch: "a..b"}, "not a name Git allows"},
		{Options{URL: "/x", Path: "a/../../b"}, "leaves the repository"},
		{Options{URL: "ssh://host/x"}, "known_hosts"},
		{Options{URL: "host:x", Auth: Auth{KnownHosts: []byte("nonsense\n")}}, "known_hosts"},
	} {
		_, err := Open(context.Background(), tt.opts)
		wantText(t, err, tt.want)
		if err != nil && strings.Contains(err.Error(), "hunter22") {
			t.Errorf("Open: the error holds the password: %v", err)
		}
	}
}
