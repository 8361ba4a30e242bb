package kruise

import (
	"strings"
)

// Support says what becomes of a field.
type Support string

// The kinds of support, best first.
const (
	Works   Support = "works"   // as users of the kind know it
	Mapped  Support = "mapped"  // what it asks for is done in another way, which the text tells
	Dropped Support = "dropped" // has no effect here; the plan warns, and the text says what to do instead
	Refused Support = "refused" // the manifest is refused, and the text says what to do instead
)

// Field is one row of the table of fields: "situ rules --kinds" shows it.
type Field struct {
	Kind    string  `json:"kind"`
	Since   string  `json:"since,omitempty"` // the only API version that has it, "" if all have
	Path    string  `json:"path"`            // below it, all fields share this row
	Support Support `json:"support"`
	Text    string  `json:"text"`
}

// Fields are all rows of the table, kind by kind.
func Fields() []Field {
	var all []Field
	for _, k := range kinds() {
		for _, f := range k.fields {
			f.Kind = k.name
			all = append(all, f)
		}
	}
	return all
}

// refused finds the fields in use that the table refuses.
func (k kind) refused(object map[string]any) []Mistake {
	var mistakes []Mistake
	for _, f := range k.fields {
		if f.Support == Refused && inUse(object, f.Path) {
			mistakes = append(mistakes, Mistake{Path: strings.Split(f.Path, "."), Text: "is not supported: " + f.Text})
		}
	}
	return mistakes
}

// dropped are the warnings about fields in use that have no effect.
func (k kind) dropped(object map[string]any) []string {
	var warnings []string
	for _, f := range k.fields {
		if f.Support == Dropped && inUse(object, f.Path) {
			warnings = append(warnings, f.Path+" has no effect: "+f.Text)
		}
	}
	return warnings
}

// inUse: the field is there and says something. Lists are looked through.
func inUse(object any, path string) bool {
	name, rest, more := strings.Cut(path, ".")
	name, isList := strings.CutSuffix(name, "[]")
	fields, _ := object.(map[string]any)
	value := fields[name]
	if empty(value) {
		return false
	}
	if !isList {
		return !more || inUse(value, rest)
	}
	items, _ := value.([]any)
	for _, item := range items {
		if !more || inUse(item, rest) {
			return true
		}
	}
	return false
}

// empty values ask for nothing.
func empty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return value == nil || value == false || value == ""
}
