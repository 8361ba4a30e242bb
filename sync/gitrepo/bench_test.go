package gitrepo

import (
	"fmt"
	"testing"
)

// A poll that finds nothing new is what a settled source costs.
func BenchmarkPollNothingNew(b *testing.B) {
	o := newOrigin(b)
	o.commit("a", map[string]string{"web.yaml": "1"})
	for name, url := range map[string]string{"http": o.serveHTTP(), "path": o.bare} {
		b.Run(name, func(b *testing.B) {
			r := open(b, Options{URL: url})
			pull(b, r)
			for b.Loop() {
				if _, err := r.Poll(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One file of ten thousand differs; only its folders are opened.
func BenchmarkChangedOneOfTenThousand(b *testing.B) {
	o := newOrigin(b)
	files := map[string]string{}
	for i := range 10_000 {
		files[fmt.Sprintf("team-%d/app-%d/file-%d.yaml", i/1000, i/10, i)] = fmt.Sprintf("n: %d\n", i)
	}
	o.commit("a", files)
	r := open(b, Options{URL: o.bare, Dir: b.TempDir()})
	from := pull(b, r)
	o.commit("b", map[string]string{"team-4/app-400/file-4000.yaml": "changed\n"})
	to := pull(b, r)
	for b.Loop() {
		changed, err := r.Changed(b.Context(), from, to)
		if err != nil || len(changed) != 1 {
			b.Fatalf("Changed: got %v, %v, want one file", changed, err)
		}
	}
}
