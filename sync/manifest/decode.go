package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decodeYAML reads the text of one document.
func decodeYAML(c chunk) (*yaml.Node, *mistake) {
	decoder := yaml.NewDecoder(bytes.NewReader(c.text))
	root := &yaml.Node{}
	if err := decoder.Decode(root); err != nil {
		return nil, explain(c, err)
	}
	// The library also ends lines, and so documents, at characters that no editor shows as a line.
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, &mistake{line: c.line, text: "a document marker follows an unusual line break; end lines with a plain newline"}
	}
	if len(root.Content) == 0 {
		return nil, nil
	}
	return root.Content[0], nil
}

// cause is one row of what can be wrong with a document's YAML.
type cause struct {
	says string // part of the library's message, "" for any
	text string // what the person reads; "" keeps the message
	way  string
}

// causes are tried in their order. The library quotes what it read in some
// messages, which could be a secret: those are never passed on.
var causes = []cause{
	{"escape", "", "put the text in single quotes, or write \\\\ for a backslash"},
	{"tag", "a value starts with \"!\"", "put text in quotes"},
	{"unknown anchor", "a value starts with \"*\" and so refers to an anchor that is not there", "put text in quotes"},
	{"cannot start any token", "a value starts with a tab, or with one of @ ` %", "indent with spaces and put text in quotes"},
	{"mapping values are not allowed", "a colon stands where no key can be", "mend the indentation, or put text with a colon in quotes"},
	{"did not find expected key", "", "mend the indentation, or the quotes on the lines before"},
	{"did not find expected", "", "close the list, mapping or quotes"},
	{"could not find expected ':'", "", "end each key with a colon, and mend the indentation"},
	{"found unexpected end of stream", "a quote, bracket or brace is never closed", "close it"},
	{"exceeded max depth", "it is nested too deeply", "write it flatter"},
	{"control characters", "it holds control characters", "save the file as UTF-8 text"},
	{"UTF-8", "it is not UTF-8", "save the file as UTF-8 text"},
	{"UTF-16", "it is not UTF-8", "save the file as UTF-8 text"},
	{"", "", "mend it"},
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// explain puts a parser's error into words that are safe to show.
func explain(c chunk, err error) *mistake {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0 // not every message has one
	if found := yamlLine.FindStringSubmatch(message); found != nil {
		n, _ := strconv.Atoi(found[1])
		line = c.line + n - 1
		message = message[len(found[0]):]
	}
	if bytes.Contains(c.text, []byte("{{")) {
		return &mistake{line: line, text: "it looks like a template, and situ renders none; commit what it renders to"}
	}
	for _, row := range causes {
		if !strings.Contains(message, row.says) {
			continue
		}
		text := row.text
		if text == "" {
			text = harmless(message)
		}
		return &mistake{line: line, text: fmt.Sprintf("it is not valid YAML: %s; %s", text, row.way)}
	}
	return nil // not reached: the last row takes all
}

// harmless keeps the parser's own words, but none that it quotes, since they
// come from the file.
func harmless(message string) string {
	if len(message) > 100 || strings.ContainsAny(message, "`\"") {
		return "a value or key cannot be read"
	}
	return message
}
