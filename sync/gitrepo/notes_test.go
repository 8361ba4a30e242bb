package gitrepo

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func noted(o *origin, url, cluster string) Options {
	return Options{URL: url, Notes: Notes{Cluster: cluster, Instance: "pod-1"}}
}

func writeLine(t testing.TB, r *Repo, commit, line string) {
	t.Helper()
	if err := r.WriteNote(t.Context(), commit, addLine(line)); err != nil {
		t.Fatalf("WriteNote: %v", err)
	}
}

func addLine(line string) func([]byte) []byte {
	return func(now []byte) []byte { return fmt.Appendf(slices.Clone(now), "%s\n", line) }
}

// fetchNotes does in an ordinary clone what users are told to do.
func (o *origin) fetchNotes() {
	o.t.Helper()
	o.git("fetch", "-q", "origin", "+refs/notes/situ/*:refs/notes/situ/*")
}

func TestTwoClustersReportOnOneCommitForRealGitToRead(t *testing.T) {
	o := newOrigin(t)
	url := o.serveHTTP()
	clusters := map[string]*Repo{"east": open(t, noted(o, url, "east")), "west": open(t, noted(o, url, "west"))}
	for i := range 5 {
		c := o.commit(fmt.Sprint(i), map[string]string{"web.yaml": fmt.Sprint(i)})
		var wg sync.WaitGroup
		for name, r := range clusters {
			wg.Go(func() {
				if err := r.WriteNote(t.Context(), c, addLine("applied in "+name)); err != nil {
					t.Errorf("WriteNote of %s: %v", name, err)
				}
			})
		}
		wg.Wait()
		o.fetchNotes()
		log := o.git("log", "-1", "--notes=situ/*", c)
		for name := range clusters {
			if n := strings.Count(log, "applied in "+name); n != 1 {
				t.Errorf("git log: %d lines of %s, want 1:\n%s", n, name, log)
			}
		}
		notes, err := clusters["east"].ReadNotes(t.Context(), c)
		if err != nil || len(notes) != 2 || notes[0].Cluster != "east" || string(notes[1].Content) != "applied in west\n" {
			t.Errorf("ReadNotes: got %v, %v, want those of east and west", notes, err)
		}
	}
	if author := o.git("log", "-1", "--format=%an <%ae>", "refs/notes/situ/east"); author != "situ pod-1 <situ@east>" {
		t.Errorf("author of the note: %q", author)
	}
	o.gitIn(o.bare, "fsck", "--strict")
}

func TestSeveralWritersOnOneRefLoseNothing(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	for name, url := range map[string]string{"http": o.serveHTTP(), "path": o.bare} {
		t.Run(name, func(t *testing.T) {
			const writers, lines = 3, 8
			var wg sync.WaitGroup
			for w := range writers {
				r := open(t, noted(o, url, name))
				wg.Go(func() {
					for i := range lines {
						if err := r.WriteNote(t.Context(), c, addLine(fmt.Sprintf("writer %d line %d", w, i))); err != nil {
							t.Errorf("WriteNote: %v", err)
						}
					}
				})
			}
			wg.Wait()
			got := strings.Split(o.gitIn(o.bare, "notes", "--ref=situ/"+name, "show", c), "\n")
			if slices.Sort(got); len(slices.Compact(got)) != writers*lines {
				t.Errorf("got %d lines, want %d: %q", len(got), writers*lines, got)
			}
			o.gitIn(o.bare, "fsck", "--strict")
		})
	}
}

func TestFlatNoteOfRealGitIsReplacedAndNotDoubled(t *testing.T) {
	o := newOrigin(t)
	a := o.commit("a", map[string]string{"web.yaml": "1"})
	b := o.commit("b", map[string]string{"web.yaml": "2"})
	o.git("notes", "--ref=situ/east", "add", "-m", "by hand", a)
	o.git("notes", "--ref=situ/east", "add", "-m", "other", b)
	o.git("push", "-q", "origin", "refs/notes/situ/east")
	r := open(t, noted(o, o.serveHTTP(), "east"))
	writeLine(t, r, a, "applied")
	tree := o.gitIn(o.bare, "ls-tree", "-r", "--name-only", "refs/notes/situ/east")
	want := []string{a[:2] + "/" + a[2:], b}
	slices.Sort(want)
	got := strings.Split(tree, "\n")
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("tree of the notes: got %q, want %q", got, want)
	}
	o.fetchNotes()
	if got := o.git("notes", "--ref=situ/east", "show", a); got != "by hand\napplied" {
		t.Errorf("git notes show: %q", got)
	}
	o.git("notes", "--ref=situ/east", "append", "-m", "again", a)
	o.git("push", "-q", "origin", "refs/notes/situ/east")
	writeLine(t, r, a, "last")
	if got := o.gitIn(o.bare, "notes", "--ref=situ/east", "show", a); got != "by hand\napplied\n\nagain\nlast" {
		t.Errorf("after another write by hand: %q", got)
	}
	if got := o.gitIn(o.bare, "notes", "--ref=situ/east", "show", b); got != "other" {
		t.Errorf("the other note: %q", got)
	}
}

func TestSpellingsOfOneNoteAreJoinedWhenRead(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	flat := o.gitIn(o.bare, "hash-object", "-w", writeTemp(t, "flat\n"))
	split := o.gitIn(o.bare, "hash-object", "-w", writeTemp(t, "split\n"))
	deep := o.plantTree("100644 " + c[4:] + "\x00" + string(hexBytes(split)))
	two := o.plantTree("40000 " + c[2:4] + "\x00" + string(hexBytes(deep)))
	entries := []string{"40000 " + c[:2] + "\x00" + string(hexBytes(two)), "100644 " + c + "\x00" + string(hexBytes(flat))}
	root := o.plantTree(entries[0] + entries[1])
	o.gitIn(o.bare, "update-ref", "refs/notes/situ/east", o.gitIn(o.bare, "commit-tree", "-m", "x", root))
	r := open(t, noted(o, o.serveHTTP(), "east"))
	got, ok, err := r.ReadNote(t.Context(), c)
	if err != nil || !ok || !strings.Contains(string(got), "flat\n") || !strings.Contains(string(got), "split\n") {
		t.Errorf("ReadNote: got %q, %v, %v, want both spellings", got, ok, err)
	}
	writeLine(t, r, c, "mine")
	if got := o.gitIn(o.bare, "ls-tree", "-r", "--name-only", "refs/notes/situ/east"); got != c[:2]+"/"+c[2:] {
		t.Errorf("tree of the notes: got %q, want one 2/38 name", got)
	}
}

func (o *origin) plantTree(raw string) string {
	o.t.Helper()
	return o.gitIn(o.bare, "hash-object", "-t", "tree", "-w", "--literally", writeTemp(o.t, raw))
}

func TestNothingIsPushedWhenTheNoteSaysNothingNew(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	var requests, pushes atomic.Int32
	r := open(t, noted(o, o.serveHTTP(func(_ http.ResponseWriter, req *http.Request) bool {
		requests.Add(1)
		if isPush(req) {
			pushes.Add(1)
		}
		return false
	}), "east"))
	same := func([]byte) []byte { return []byte("applied\n") }
	for range 2 {
		if err := r.WriteNote(t.Context(), c, same); err != nil {
			t.Fatal(err)
		}
	}
	if got := pushes.Load(); got != 2 { // one write: refs and pack
		t.Errorf("got %d push requests, want 2", got)
	}
	requests.Store(0)
	if err := r.WriteNote(t.Context(), c, addLine("more")); err != nil {
		t.Fatal(err)
	}
	if got := requests.Load(); got != 2 {
		t.Errorf("a write on a known tip took %d requests, want 2", got)
	}
	if got := o.gitIn(o.bare, "rev-list", "--count", "refs/notes/situ/east"); got != "2" {
		t.Errorf("got %s commits on the notes ref, want 2", got)
	}
}

func TestEveryClusterNameMakesOneValidRefAndComesBack(t *testing.T) {
	o := newOrigin(t)
	names := []string{"east", "arn:aws:eks:eu-west-1:1/prod", "a/b", "a", "..", ".x", "x.", "x.lock", "a..b", "@{", "üñí ~^:?*[\\", "eu.prod-1"}
	refs := map[string]bool{}
	for _, name := range names {
		ref := notesPrefix + escapeCluster(name)
		o.git("check-ref-format", ref)
		if refs[ref] {
			t.Errorf("%q: ref %s is taken", name, ref)
		}
		refs[ref] = true
		if strings.Count(ref, "/") != 3 {
			t.Errorf("%q: ref %s has more than one component", name, ref)
		}
		if got := unescapeCluster(ref); got != name {
			t.Errorf("%q comes back as %q", name, got)
		}
	}
}

func TestHistoryIsNewestFirstWithTheNotesAsTheyAre(t *testing.T) {
	o := newOrigin(t)
	url := o.serveHTTP()
	r := open(t, noted(o, url, "east"))
	o.commit("x", map[string]string{"web.yaml": "x"})
	if notes, err := r.History(t.Context(), 5); err != nil || len(notes) != 0 {
		t.Errorf("History without notes: got %v, %v, want none", notes, err)
	}
	var commits []string
	for i := range 4 {
		commits = append(commits, o.commit(fmt.Sprint(i), map[string]string{"web.yaml": fmt.Sprint(i)}))
		writeLine(t, r, commits[i], "planned")
		for range 6 { // more writes than the first guess covers
			writeLine(t, r, commits[i], "step")
		}
	}
	writeLine(t, r, commits[1], "late")
	got, err := open(t, noted(o, url, "east")).History(t.Context(), 3)
	if err != nil || len(got) != 3 {
		t.Fatalf("History: got %v, %v, want 3 notes", got, err)
	}
	for i, want := range []string{commits[1], commits[3], commits[2]} {
		if got[i].Commit != want || !strings.HasPrefix(string(got[i].Content), "planned\n") || got[i].Time.IsZero() {
			t.Errorf("History[%d]: got %s %q, want %s", i, got[i].Commit, got[i].Content, want)
		}
	}
	if !strings.HasSuffix(string(got[0].Content), "late\n") {
		t.Errorf("History[0]: %q lacks the last write", got[0].Content)
	}
	if all, err := r.History(t.Context(), 100); err != nil || len(all) != 4 {
		t.Errorf("History of 100: got %d, %v, want all 4", len(all), err)
	}
}

func TestNotesStayBoundedOverManyWrites(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	r := open(t, noted(o, o.bare, "east"))
	writeLine(t, r, c, "first")
	r.notes.store.packs = maxPacks - 3
	for i := range 10 {
		text := fmt.Sprint(i)
		if err := r.WriteNote(t.Context(), c, func([]byte) []byte { return []byte(text) }); err != nil {
			t.Fatal(err)
		}
	}
	if s := r.notes.store; s.packs > 10 || len(s.held) > keepCommits+8 {
		t.Errorf("%d states of the notes are kept after %d packs, want few", len(s.held), s.packs)
	}
	if got := o.gitIn(o.bare, "rev-list", "--count", "refs/notes/situ/east"); got != "11" {
		t.Errorf("got %s writes, want 11", got)
	}
}

func TestLockLeftBesideARefEndsAfterAWhile(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	lock := filepath.Join(o.bare, "refs", "notes", "situ", "east.lock")
	if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("touch", "-d", "1 hour ago", lock).CombinedOutput(); err != nil {
		t.Fatalf("touch: %v %s", err, out)
	}
	writeLine(t, open(t, noted(o, o.bare, "east")), c, "applied")
}
