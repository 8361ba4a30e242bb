package manifest

import (
	"bytes"
)

// chunk is the text of one document, and the line of the file it starts at.
type chunk struct {
	line int // of its first line, counted from 1
	text []byte
}

// split cuts a YAML file at its document markers. Documents that hold nothing
// but comments are left out and not counted. A marker always stands at the
// start of a line, and no text of a document may: so no parser is needed here.
func split(content []byte) []chunk {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	var chunks []chunk
	open := chunk{line: 1}
	start, line := 0, 0
	for pos := 0; pos < len(content); {
		end := lineEnd(content, pos)
		line++
		rest, isMarker := marker(content[pos:end])
		if isMarker {
			open.text = append(open.text, content[start:pos]...)
			chunks = appendFilled(chunks, open)
			// The marker becomes blanks: what follows it keeps its line and column.
			open = chunk{line: line, text: rest}
			start = end
		}
		pos = end
	}
	open.text = append(open.text, content[start:]...)
	return appendFilled(chunks, open)
}

func lineEnd(content []byte, pos int) int {
	if i := bytes.IndexByte(content[pos:], '\n'); i >= 0 {
		return pos + i + 1
	}
	return len(content)
}

// marker says whether a line starts or ends a document, and what else it holds.
func marker(line []byte) (rest []byte, ok bool) {
	for _, m := range []string{"---", "..."} {
		after, found := bytes.CutPrefix(line, []byte(m))
		if found && (len(after) == 0 || bytes.ContainsRune([]byte(" \t\r\n"), rune(after[0]))) {
			return append([]byte("   "), after...), true
		}
	}
	return nil, false
}

func appendFilled(chunks []chunk, c chunk) []chunk {
	for line := range bytes.Lines(c.text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return append(chunks, c)
		}
	}
	return chunks
}
