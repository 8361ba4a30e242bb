package gitrepo

import (
	"bytes"
	"errors"
	"sort"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// A notes ref points at a commit whose tree has one file per note, named by
// the commit the note is on. The name may be split by slashes after any two
// digits, and readers accept every spelling. Here it is always split once,
// 2/38, which keeps the cost of a write the same however many notes there are.

// readNote joins what all spellings of a name hold, as git does. Of one that is
// too large it gives the beginning: whoever wrote it must not keep others from
// reading the rest, nor from writing it anew.
func readNote(s storer.EncodedObjectStorer, tip plumbing.Hash, id string) ([]byte, error) {
	c, err := object.GetCommit(s, tip)
	if err != nil {
		return nil, err
	}
	var found []plumbing.Hash
	if err := spellings(s, c.TreeHash, id, &found); err != nil {
		return nil, err
	}
	var out []byte
	for i, h := range found {
		data, err := readBlob(s, h, maxNoteBytes)
		if err != nil && !errors.Is(err, errLarger) {
			return nil, err
		}
		if i > 0 && !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, '\n')
		}
		out = append(out, data...)
	}
	if out == nil && len(found) > 0 {
		out = []byte{} // an empty note is a note
	}
	return out, nil
}

func spellings(s storer.EncodedObjectStorer, tree plumbing.Hash, rest string, found *[]plumbing.Hash) error {
	list, err := entries(s, tree)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Mode != filemode.Dir && e.Name == rest {
			*found = appendNew(*found, e.Hash)
		}
		if fanout(e, rest) {
			if err := spellings(s, e.Hash, rest[2:], found); err != nil {
				return err
			}
		}
	}
	return nil
}

func appendNew(list []plumbing.Hash, h plumbing.Hash) []plumbing.Hash {
	for _, old := range list {
		if old == h {
			return list
		}
	}
	return append(list, h)
}

func fanout(e object.TreeEntry, rest string) bool {
	return e.Mode == filemode.Dir && len(e.Name) == 2 && len(rest) > 2 && strings.HasPrefix(rest, e.Name)
}

// noteCommit is one change of a notes ref and the objects it adds.
type noteCommit struct {
	ref      plumbing.ReferenceName
	old, new plumbing.Hash
	objects  []plumbing.Hash
	from     storer.EncodedObjectStorer
}

// compose builds the commit that sets one note on top of the tip.
func (n *notebook) compose(id string, content []byte) (noteCommit, error) {
	c := noteCommit{ref: n.ref, old: n.tip, from: n.store}
	root := plumbing.ZeroHash
	if !n.tip.IsZero() {
		tip, err := object.GetCommit(n.store, n.tip)
		if err != nil {
			return c, err
		}
		root = tip.TreeHash
	}
	w := &treeWriter{s: n.store, added: &c.objects}
	blob, err := w.blob(content)
	if err != nil {
		return c, err
	}
	tree, err := w.setNote(root, id, blob)
	if err != nil {
		return c, err
	}
	c.new, err = w.commit(tree, n.tip, n.signature(), "situ: note on "+id+"\n")
	return c, err
}

func (n *notebook) signature() object.Signature {
	name := strings.TrimSpace("situ " + clean(n.opts.Notes.Instance, nil))
	name = strings.NewReplacer("<", "", ">", "").Replace(name)
	return object.Signature{Name: name, Email: "situ@" + escapeCluster(n.opts.Notes.Cluster), When: time.Now().UTC().Truncate(time.Second)}
}

// treeWriter stores objects and remembers which.
type treeWriter struct {
	s     storer.EncodedObjectStorer
	added *[]plumbing.Hash
}

func (w *treeWriter) blob(content []byte) (plumbing.Hash, error) {
	o := w.s.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	out, err := o.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	_, err = out.Write(content)
	if err := errors.Join(err, out.Close()); err != nil {
		return plumbing.ZeroHash, err
	}
	return w.keep(o)
}

func (w *treeWriter) keep(o plumbing.EncodedObject) (plumbing.Hash, error) {
	h, err := w.s.SetEncodedObject(o)
	if err == nil {
		*w.added = append(*w.added, h)
	}
	return h, err
}

// setNote removes every spelling of the name and inserts the split one. Left
// behind, another spelling would be joined with ours by git's next write.
func (w *treeWriter) setNote(root plumbing.Hash, id string, blob plumbing.Hash) (plumbing.Hash, error) {
	list, err := w.without(root, id)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var branch []object.TreeEntry
	at := -1
	for i, e := range list {
		if e.Name == id[:2] {
			at = i
		}
	}
	switch {
	case at >= 0 && list[at].Mode != filemode.Dir: // a stranger's file has the folder's name
		return w.tree(append(list, object.TreeEntry{Name: id, Mode: filemode.Regular, Hash: blob}))
	case at >= 0:
		if branch, err = entries(w.s, list[at].Hash); err != nil {
			return plumbing.ZeroHash, err
		}
	default:
		at = len(list)
		list = append(list, object.TreeEntry{Name: id[:2], Mode: filemode.Dir})
	}
	branch = append(branch, object.TreeEntry{Name: id[2:], Mode: filemode.Regular, Hash: blob})
	if list[at].Hash, err = w.tree(branch); err != nil {
		return plumbing.ZeroHash, err
	}
	return w.tree(list)
}

// without is a tree's entries with no spelling of the name among them.
func (w *treeWriter) without(tree plumbing.Hash, rest string) ([]object.TreeEntry, error) {
	if tree.IsZero() {
		return nil, nil
	}
	list, err := entries(w.s, tree)
	if err != nil {
		return nil, err
	}
	var out []object.TreeEntry
	for _, e := range list {
		if e.Mode != filemode.Dir && e.Name == rest {
			continue
		}
		if fanout(e, rest) {
			below, err := w.without(e.Hash, rest[2:])
			if err != nil {
				return nil, err
			}
			if len(below) == 0 {
				continue
			}
			if e.Hash, err = w.tree(below); err != nil {
				return nil, err
			}
		}
		out = append(out, e)
	}
	return out, nil
}

func (w *treeWriter) tree(list []object.TreeEntry) (plumbing.Hash, error) {
	sort.Sort(object.TreeEntrySorter(list))
	o := w.s.NewEncodedObject()
	if err := (&object.Tree{Entries: list}).Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return w.keep(o)
}

func (w *treeWriter) commit(tree, parent plumbing.Hash, who object.Signature, message string) (plumbing.Hash, error) {
	c := &object.Commit{Author: who, Committer: who, Message: message, TreeHash: tree}
	if !parent.IsZero() {
		c.ParentHashes = []plumbing.Hash{parent}
	}
	o := w.s.NewEncodedObject()
	if err := c.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return w.keep(o)
}
