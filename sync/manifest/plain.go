package manifest

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds on what one file may unfold to. The largest object that an API server
// stores has far fewer values, and no API is nested half as deeply.
const (
	maxDepth  = 200
	maxValues = 500_000
)

// plain turns a tree into maps, lists and scalars as the API machinery knows
// them: int64, float64, string and bool. Nulls in mappings are dropped. Words
// and numbers mean what they mean to kubectl, which reads YAML 1.1.
func (d *document) plain(n *yaml.Node, at where) any {
	d.values++
	if d.values > maxValues || len(at) > maxDepth {
		d.tooLarge(at)
		return nil
	}
	if tag := n.Tag; n.Style&yaml.TaggedStyle != 0 && tag != "!!str" && tag != "!!map" && tag != "!!seq" {
		d.say(at, "has a YAML tag (a word after \"!\"), which Kubernetes does not know; write the value itself")
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.plain(n.Alias, at)
	case yaml.MappingNode:
		return d.mapping(n, at)
	case yaml.SequenceNode:
		return d.sequence(n, at)
	default:
		return d.scalar(n, at)
	}
}

// tooLarge is said once: everything after it is left out.
func (d *document) tooLarge(at where) {
	if d.over {
		return
	}
	d.over = true
	if len(at) > maxDepth {
		d.say(at[:3], "is nested too deeply, or an anchor contains itself; want at most %d levels", maxDepth)
		return
	}
	d.say(nil, "the file unfolds to more than %d values; use fewer aliases (\"*name\"), or split it", maxValues)
}

func (d *document) sequence(n *yaml.Node, at where) []any {
	list := make([]any, 0, len(n.Content))
	for i, item := range n.Content {
		if d.over {
			return nil
		}
		here := at.item(i)
		before := len(d.mistakes)
		value := d.plain(item, here)
		if value == nil && len(d.mistakes) == before {
			d.say(here, "is empty; give it a value or remove the item")
		}
		list = append(list, value)
	}
	return list
}

func (d *document) mapping(n *yaml.Node, at where) map[string]any {
	out := make(map[string]any, len(n.Content)/2)
	written := make(map[string]bool, len(n.Content)/2) // nulls too
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content) && !d.over; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.Style == 0 && key.Value == "<<" {
			merged = append(merged, value)
			continue
		}
		name, ok := d.key(key, at)
		if !ok {
			continue
		}
		if written[name] {
			d.sayLine(key.Line, at.field(name), "is written twice; keep one")
			continue
		}
		written[name] = true
		if v := d.plain(value, at.field(name)); v != nil {
			out[name] = v
		}
	}
	for _, value := range merged {
		d.merge(out, written, value, at)
	}
	return out
}

// merge takes over what a "<<" key brings, where the mapping says nothing itself.
func (d *document) merge(out map[string]any, written map[string]bool, value *yaml.Node, at where) {
	before := len(d.mistakes)
	brought := d.plain(value, at.field("<<"))
	sources, isList := brought.([]any)
	if !isList {
		sources = []any{brought}
	}
	if len(d.mistakes) > before {
		return
	}
	for _, source := range sources {
		fields, isMap := source.(map[string]any)
		if !isMap {
			d.say(at.field("<<"), "brings no mapping; let it refer to one (<<: *name)")
			return
		}
		for name, v := range fields {
			if !written[name] {
				written[name] = true
				out[name] = v
			}
		}
	}
}

// key reads a key. A word like "on" would silently become "true".
func (d *document) key(n *yaml.Node, at where) (string, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		d.sayLine(n.Line, at, "has a list or mapping as a key; want text, or, if {{ }} was meant for a template, commit what it renders to")
		return "", false
	}
	switch key := resolve(n).(type) {
	case string:
		return key, true
	case int64:
		if strconv.FormatInt(key, 10) == n.Value {
			return n.Value, true
		}
	case bool:
		d.sayLine(n.Line, at, "has a key that YAML reads as true or false (yes, no, on, off, y, n); put the key in quotes")
		return "", false
	}
	d.sayLine(n.Line, at, "has a key that YAML reads as null or as another number than it looks; put the key in quotes")
	return "", false
}

func (d *document) scalar(n *yaml.Node, at where) any {
	value := resolve(n)
	switch v := value.(type) {
	case string:
		if !utf8.ValidString(v) {
			d.say(at, "is not UTF-8 text; put binary content into binaryData as base64")
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			d.say(at, "is no finite number; put text in quotes")
		}
	}
	return value
}

// words are the plain words of YAML 1.1 that are no text.
var words = map[string]any{
	"": nil, "~": nil, "null": nil, "Null": nil, "NULL": nil,
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true,
	"true": true, "True": true, "TRUE": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false,
	"false": false, "False": false, "FALSE": false, "off": false, "Off": false, "OFF": false,
	".nan": math.NaN(), ".NaN": math.NaN(), ".NAN": math.NaN(),
	".inf": math.Inf(1), ".Inf": math.Inf(1), ".INF": math.Inf(1),
	"+.inf": math.Inf(1), "+.Inf": math.Inf(1), "+.INF": math.Inf(1),
	"-.inf": math.Inf(-1), "-.Inf": math.Inf(-1), "-.INF": math.Inf(-1),
}

var decimal = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// resolve gives a scalar its type as YAML 1.1 does: 0777 is 511 and 1_000 is 1000.
func resolve(n *yaml.Node) any {
	if n.Style&^yaml.FlowStyle != 0 || n.Tag == "!!str" && n.Style&yaml.TaggedStyle != 0 {
		return n.Value
	}
	if v, ok := words[n.Value]; ok {
		return v
	}
	if !strings.Contains("+-.0123456789", n.Value[:1]) {
		return n.Value
	}
	digits := n.Value
	if digits[0] != '.' {
		digits = strings.ReplaceAll(digits, "_", "")
	}
	if i, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(digits, 0, 64); err == nil {
		return float64(u)
	}
	if f, err := strconv.ParseFloat(digits, 64); err == nil && decimal.MatchString(digits) {
		return whole(f)
	}
	return n.Value
}

// whole turns 2.0 into 2: JSON, which the API server reads, makes no difference.
// It goes through the digits that JSON would show.
func whole(f float64) any {
	if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return f
	}
	if i, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
		return i
	}
	return f
}
