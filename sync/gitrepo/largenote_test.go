package gitrepo

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Whoever may push can write a note of any size. It costs that note, not the others.
func TestANoteThatIsTooLargeSpoilsNoOther(t *testing.T) {
	o := newOrigin(t)
	older := o.commit("a", map[string]string{"web.yaml": "1"})
	newer := o.commit("b", map[string]string{"web.yaml": "2"})
	r := open(t, noted(o, o.bare, "prod"))
	writeLine(t, r, older, "small")

	o.fetchNotes()
	file := filepath.Join(t.TempDir(), "note")
	if err := os.WriteFile(file, bytes.Repeat([]byte("a"), 3*maxNoteBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	o.git("notes", "--ref=situ/prod", "add", "-F", file, newer)
	o.git("push", "-q", "origin", "refs/notes/situ/prod")

	notes, err := r.History(t.Context(), 10)
	if err != nil || len(notes) != 2 {
		t.Fatalf("History = %d notes, %v; want both", len(notes), err)
	}
	for _, note := range notes {
		if len(note.Content) > maxNoteBytes+1 || note.Commit == older && string(note.Content) != "small\n" {
			t.Errorf("the note on %s has %d bytes", note.Commit, len(note.Content))
		}
	}
	if err := r.WriteNote(t.Context(), newer, func([]byte) []byte { return []byte("anew") }); err != nil {
		t.Fatalf("WriteNote on the commit of the large note: %v", err)
	}
	if content, found, err := r.ReadNote(t.Context(), newer); err != nil || !found || string(content) != "anew" {
		t.Errorf("ReadNote = %d bytes, %v, %v; want the new text", len(content), found, err)
	}
}
