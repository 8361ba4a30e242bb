package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// decodeJSON reads all objects of a JSON file, one after the other, into the
// same trees that YAML gives: the lines are known and no key is lost.
func decodeJSON(content []byte) ([]*yaml.Node, *mistake) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	d := &jsonTree{content: content, tokens: json.NewDecoder(bytes.NewReader(content)), line: 1}
	d.tokens.UseNumber()
	var roots []*yaml.Node
	for {
		root, err := d.value(0)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return roots, d.explain(err)
		}
		roots = append(roots, root)
	}
}

type jsonTree struct {
	content []byte
	tokens  *json.Decoder
	read    int // up to here the lines are counted
	line    int
}

var errTooDeep = errors.New("nested too deeply")

func (d *jsonTree) value(depth int) (*yaml.Node, error) {
	token, err := d.tokens.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errTooDeep
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: d.lineAt(int(d.tokens.InputOffset()))}
	switch token := token.(type) {
	case json.Delim:
		node.Kind = yaml.MappingNode
		if token == '[' {
			node.Kind = yaml.SequenceNode
		}
		return node, d.fill(node, depth)
	case string:
		node.Style, node.Value = yaml.DoubleQuotedStyle, token
	case json.Number:
		node.Value = token.String()
	case bool:
		node.Value = map[bool]string{true: "true", false: "false"}[token]
	case nil:
		node.Value = "null"
	}
	return node, nil
}

// fill reads what stands between a pair of brackets or braces.
func (d *jsonTree) fill(node *yaml.Node, depth int) error {
	for d.tokens.More() {
		for range map[yaml.Kind]int{yaml.MappingNode: 2, yaml.SequenceNode: 1}[node.Kind] {
			child, err := d.value(depth + 1)
			if err != nil {
				return noEOF(err)
			}
			node.Content = append(node.Content, child)
		}
	}
	_, err := d.tokens.Token() // the closing one
	return noEOF(err)
}

// noEOF: an end in the middle of a value is no end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (d *jsonTree) lineAt(offset int) int {
	if offset > d.read {
		d.line += bytes.Count(d.content[d.read:offset], []byte("\n"))
		d.read = offset
	}
	return d.line
}

// explain leaves the decoder's own words out: they quote the file.
func (d *jsonTree) explain(err error) *mistake {
	offset := int(d.tokens.InputOffset())
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = int(syntax.Offset)
	}
	text := "it is not valid JSON; mend the comma, quote, bracket or brace here"
	switch {
	case errors.Is(err, errTooDeep):
		text = "it is nested too deeply; write it flatter"
	case errors.Is(err, io.ErrUnexpectedEOF):
		text, offset = "it is not valid JSON: it ends too early; close the quote, bracket or brace", len(d.content)
	}
	return &mistake{line: d.lineAt(min(offset, len(d.content))), text: text}
}
