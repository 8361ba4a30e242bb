// Package report shows plans, notes and rules to people and to programs, as
// text, JSON or Markdown. It decides nothing and asks nobody: what it shows is
// what it was handed.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Format is how a result is written.
type Format string

// The formats.
const (
	Text     Format = "text"
	JSON     Format = "json"
	Markdown Format = "markdown"
)

// ParseFormat reads the value of -o.
func ParseFormat(text string) (Format, error) {
	switch format := Format(text); format {
	case Text, JSON, Markdown:
		return format, nil
	}
	return "", fmt.Errorf("output format is %q; want text, json or markdown", text)
}

// Printer writes results to one place in one format.
type Printer struct {
	Out    io.Writer
	Format Format
	Color  bool // text only
}

// json writes a value as indented JSON.
func (p Printer) json(value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := io.WriteString(p.Out, printableJSON(text.String()))
	return err
}

// page gathers lines, so that a result is written at once.
type page struct {
	strings.Builder
	color bool
}

func (p Printer) page() *page { return &page{color: p.Color} }

func (p Printer) write(page *page) error {
	_, err := io.WriteString(p.Out, page.String())
	return err
}

// line adds one line, without blanks at its end. It stays one line, and safe for a
// terminal, whatever its arguments hold.
func (p *page) line(format string, args ...any) {
	text, safe := strings.TrimRight(fmt.Sprintf(format, args...), " "), Printable
	if p.color {
		safe = printablePainted
	}
	p.WriteString(safe(text) + "\n")
}

// The colours: of what is fine, of what costs something, of what is wrong.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (p *page) paint(color, text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// cell paints a text and pads it to a width that counts letters, not colours.
func (p *page) cell(color, text string, width int) string {
	return p.paint(color, text) + strings.Repeat(" ", max(0, width-len([]rune(text))))
}

// count is "1 pod" or "3 pods".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short is a commit as people name it.
func short(commit string) string {
	if len(commit) >= 40 {
		return commit[:10]
	}
	return commit
}
