package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable is a text of one line in which nothing moves a cursor, changes a
// colour, turns the direction of writing or starts a line: such characters are
// spelt out, as \x1b. Names, notes and messages come from people who may push to
// a repository, and are shown on terminals of others.
func Printable(text string) string {
	if strings.IndexFunc(text, unsafe) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		c, size := utf8.DecodeRuneInString(rest)
		switch {
		case c == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		case c == '\n':
			b.WriteString(`\n`)
		case unsafe(c) && c < 0x80:
			fmt.Fprintf(&b, `\x%02x`, c)
		case unsafe(c):
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
		rest = rest[size:]
	}
	return b.String()
}

// printableJSON is the same JSON, in which what Printable spells out is spelt out
// as JSON does. Of the characters that JSON itself allows, only those above ASCII
// are left to do.
func printableJSON(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c < 0x80 || !unsafe(c) {
			b.WriteRune(c)
			continue
		}
		for _, half := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, half)
		}
	}
	return b.String()
}

func unsafe(c rune) bool { return !unicode.IsPrint(c) }

// palette matches what paint puts around a text, and no other sequence.
var palette = regexp.MustCompile(`\x1b\[(?:0|1|2|31|32|33|36)m`)

// printablePainted is Printable for a line that paint has worked on.
func printablePainted(line string) string {
	var b strings.Builder
	from := 0
	for _, at := range palette.FindAllStringIndex(line, -1) {
		b.WriteString(Printable(line[from:at[0]]) + line[at[0]:at[1]])
		from = at[1]
	}
	b.WriteString(Printable(line[from:]))
	return b.String()
}

// code is a name in a code span, where nothing is read as markup.
func code(name string) string {
	return "`" + strings.NewReplacer("`", "'", "|", "/", "\n", " ").Replace(name) + "`"
}

// markup is what Markdown, its tables and HTML read as more than letters. An
// address stays readable, but nobody is led there by a click.
var markup = strings.NewReplacer("\\", "\\\\", "|", "\\|", "&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "\\*", "`", "'", "_", "\\_", "~", "\\~",
	"[", "\\[", "]", "\\]", "\n", " ", "://", ":&#47;/", "www.", "www&#46;")

// mention is a name that a forge would notify; the digest of an image is none.
var mention = regexp.MustCompile(`(^|[^0-9A-Za-z])@`)

// escape keeps a text from outside from being read as Markdown or HTML, and from
// calling people.
func escape(text string) string {
	return mention.ReplaceAllString(markup.Replace(text), "$1@<!-- -->")
}
