package binaries

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress turns the lines of go build -v into one moving line on a terminal,
// and into a plain line now and then anywhere else.
type progress struct {
	out      io.Writer
	terminal bool
	total    int
	began    time.Time

	mu       sync.Mutex
	rest     string // a line that has not ended yet
	compiled int
	fetched  int
	printed  time.Time
	other    []string // lines that are no progress: the compiler's complaints
}

func newProgress(out io.Writer, total int) *progress {
	file, isFile := out.(*os.File)
	now := time.Now()
	return &progress{
		out:      out,
		terminal: isFile && term.IsTerminal(int(file.Fd())),
		total:    total,
		began:    now,
		printed:  now,
	}
}

// Write takes what go build says on its standard error.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.Split(p.rest+string(b), "\n")
	p.rest = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		p.line(line)
	}
	return len(b), nil
}

func (p *progress) line(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		p.fetched++
		p.show("downloading " + strings.TrimPrefix(line, "go: downloading "))
	case line == "" || strings.ContainsAny(line, " \t:"):
		p.other = append(p.other, line)
	default:
		p.compiled++
		p.show(line)
	}
}

// interval keeps a log readable and a terminal from flickering.
func (p *progress) interval() time.Duration {
	if p.terminal {
		return 100 * time.Millisecond
	}
	return 20 * time.Second
}

func (p *progress) show(what string) {
	if time.Since(p.printed) < p.interval() {
		return
	}
	p.printed = time.Now()
	line := fmt.Sprintf("  %s  %d of at most %d packages  %s", time.Since(p.began).Round(time.Second), p.compiled, p.total, what)
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	fmt.Fprintf(p.out, "\r\x1b[K%.78s", line)
}

func (p *progress) finish() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// complaint is what go build said beside its progress, or nil.
func (p *progress) complaint() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.TrimSpace(strings.Join(append(p.other, p.rest), "\n"))
	if text == "" {
		return nil
	}
	return errors.New(text)
}
