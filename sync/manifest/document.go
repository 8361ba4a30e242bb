package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"situ.gitops/planner"
)

// document is one document of a file, and what became of it.
type document struct {
	number    int // counts from 1; 0 stands for the whole file
	manifests []planner.Manifest
	mistakes  []mistake

	// Only while it is read:
	root   *yaml.Node
	line   int // of its first line
	values int
	over   bool // too large: no use in reading on
	types  *types
}

// mistake is something to mend. Its text never holds a value that could be a secret.
type mistake struct {
	line int // in the file; 0: unknown
	text string
}

// maxMistakes bounds what one document can make people read.
const maxMistakes = 20

// texts are the mistakes in the order of their lines, each once.
func (d *document) texts() []string {
	mistakes := slices.Clone(d.mistakes)
	slices.SortStableFunc(mistakes, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	var texts []string
	for _, m := range mistakes {
		text := m.text
		if m.line > 0 {
			text += fmt.Sprintf(" (line %d)", m.line)
		}
		if len(texts) == maxMistakes {
			return append(texts, "there are more mistakes; mend these first")
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// say notes what is wrong at a place of the document.
func (d *document) say(at where, format string, args ...any) {
	d.sayLine(lineOf(d.root, at), at, format, args...)
}

func (d *document) sayLine(line int, at where, format string, args ...any) {
	if len(d.mistakes) > 10*maxMistakes {
		return
	}
	text := fmt.Sprintf(format, args...)
	if len(at) > 0 {
		text = at.String() + " " + text
	}
	d.mistakes = append(d.mistakes, mistake{line: d.line + line - 1, text: text})
}

// where is a place in a document: field names and list positions.
type where []any

func (p where) field(name string) where { return append(p, name) }
func (p where) item(i int) where        { return append(p, i) }

// String gives the usual form: spec.containers[0].image.
func (p where) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if strings.ContainsAny(step, ". /[]\"") || len(step) > 100 {
				b.WriteString("[" + strconv.Quote(short(step)) + "]")
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// short bounds a piece of a file that is shown to people.
func short(text string) string {
	if len(text) <= 100 {
		return text
	}
	return strings.ToValidUTF8(text[:100], "") + "..."
}

// lineOf follows a path as far as the document goes.
func lineOf(n *yaml.Node, at where) int {
	if n == nil {
		return 1
	}
	line := n.Line
	for _, step := range at {
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		next, nextLine := child(n, step)
		if next == nil {
			return line
		}
		n, line = next, nextLine
	}
	return line
}

func child(n *yaml.Node, step any) (*yaml.Node, int) {
	switch step := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && step < len(n.Content) {
			return n.Content[step], n.Content[step].Line
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1], n.Content[i].Line
			}
		}
	}
	return nil, 0
}
