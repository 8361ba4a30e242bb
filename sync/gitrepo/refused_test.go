package gitrepo

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestReadOnlyRemoteRefusesNotesOnceAndHealsWhenGranted(t *testing.T) {
	for _, tt := range []struct {
		name string
		gate func(allowed *atomic.Bool) gate
		hook string
		want []string
	}{
		{"403", func(allowed *atomic.Bool) gate {
			return func(w http.ResponseWriter, r *http.Request) bool {
				if isPush(r) && !allowed.Load() {
					http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
					return true
				}
				return false
			}
		}, "", []string{"not granted", "refs/notes/situ/*"}},
		{"401", func(allowed *atomic.Bool) gate {
			auth := basicAuth("ann", "hunter22")
			return func(w http.ResponseWriter, r *http.Request) bool {
				return isPush(r) && !allowed.Load() && auth(w, r)
			}
		}, "", []string{"needs a credential"}},
		{"pre-receive hook", nil, "#!/bin/sh\ntest -e ok && exit 0\necho notes are not welcome >&2\nexit 1\n", []string{"hook declined", "notes are not welcome"}},
		{"update hook", nil, "#!/bin/sh\ntest -e ok\n", []string{"hook declined"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrigin(t)
			c := o.commit("a", map[string]string{"web.yaml": "1"})
			before := o.gitIn(o.bare, "for-each-ref")
			var allowed atomic.Bool
			var pushes atomic.Int32
			gates := []gate{func(_ http.ResponseWriter, r *http.Request) bool {
				if isPush(r) && r.Method == http.MethodGet {
					pushes.Add(1)
				}
				return false
			}}
			if tt.gate != nil {
				gates = append(gates, tt.gate(&allowed))
			}
			if tt.hook != "" {
				hook := filepath.Join(o.bare, "hooks", strings.Fields(tt.name)[0])
				if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(hook, []byte(tt.hook), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			r := open(t, noted(o, o.serveHTTP(gates...), "east"))
			pull(t, r)
			err := r.WriteNote(t.Context(), c, addLine("applied"))
			if !errors.Is(err, ErrReadOnly) {
				t.Fatalf("WriteNote: got %v, want ErrReadOnly", err)
			}
			wantText(t, err, append(tt.want, "refs/notes/situ/east")...)
			if n := pushes.Load(); n != 1 {
				t.Errorf("got %d attempts, want 1", n)
			}
			if after := o.gitIn(o.bare, "for-each-ref"); after != before {
				t.Errorf("refs changed: %s", after)
			}
			allowed.Store(true)
			if err := os.WriteFile(filepath.Join(o.bare, "ok"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			writeLine(t, r, c, "applied")
			if got := o.gitIn(o.bare, "notes", "--ref=situ/east", "show", c); got != "applied" {
				t.Errorf("after the grant: %q", got)
			}
		})
	}
}

func TestNotesMayHaveACredentialOfTheirOwn(t *testing.T) {
	o := newOrigin(t)
	c := o.commit("a", map[string]string{"web.yaml": "1"})
	reader, writer := basicAuth("reader", "read-only"), basicAuth("writer", "may-write")
	opts := noted(o, o.serveHTTP(func(w http.ResponseWriter, r *http.Request) bool {
		if isPush(r) {
			return writer(w, r)
		}
		return reader(w, r)
	}), "east")
	opts.Auth = Auth{Username: "reader", Password: "read-only"}
	opts.Notes.Auth = &Auth{Username: "writer", Password: "may-write"}
	r := open(t, opts)
	pull(t, r)
	writeLine(t, r, c, "one")
	writeLine(t, open(t, opts), c, "two")
	if got := o.gitIn(o.bare, "notes", "--ref=situ/east", "show", c); got != "one\ntwo" {
		t.Errorf("note: %q", got)
	}
}
