package demo

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// The colours of a terminal.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

// screen is where the person reads.
type screen struct {
	out    io.Writer
	colour bool
}

func newScreen(out io.Writer) screen {
	return screen{out: out, colour: IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// IsTerminal tells whether a person is likely to read along.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// in is the text in a colour, where there are colours.
func (s screen) in(colour, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// title begins a new part.
func (s screen) title(text string) {
	line := strings.Repeat("=", len(text))
	fmt.Fprintf(s.out, "\n\n%s\n%s\n", s.in(bold, text), s.in(dim, line))
}

// say explains something.
func (s screen) say(text string) { fmt.Fprintf(s.out, "\n%s\n", text) }

// step tells what is being done.
func (s screen) step(text string) { fmt.Fprintln(s.out, text) }

// commands shows what is being run, or what the person may run.
func (s screen) commands(lines ...string) {
	fmt.Fprintln(s.out)
	for _, line := range lines {
		fmt.Fprintln(s.out, s.in(cyan, "$ "+line))
	}
}

// text shows what a program said.
func (s screen) text(text string) { fmt.Fprintln(s.out, text) }

// diff shows the lines of a diff that a person wants to see.
func (s screen) diff(diff string) {
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "+++ b/"):
			fmt.Fprintln(s.out, s.in(bold, "  "+strings.TrimPrefix(line, "+++ b/")))
		case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "@@ "):
		case strings.HasPrefix(line, "-"):
			fmt.Fprintln(s.out, s.in(red, "  "+line))
		case strings.HasPrefix(line, "+"):
			fmt.Fprintln(s.out, s.in(green, "  "+line))
		default:
			fmt.Fprintln(s.out, "  "+line)
		}
	}
}
