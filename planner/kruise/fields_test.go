package kruise

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestEveryFieldHasARow walks the Go types: each field is in the table, or below
// a row of it, and each row is a field.
func TestEveryFieldHasARow(t *testing.T) {
	for _, k := range kinds() {
		met := map[string]bool{}
		for version, fields := range k.versions {
			spec, ok := fields.FieldByName("Spec")
			if !ok {
				t.Fatalf("%s %s has no spec", k.name, version)
			}
			for _, path := range leaves(spec.Type, "spec", k.rows()) {
				row, ok := k.rowFor(path)
				if !ok {
					t.Errorf("%s %s: %s has no row in the table", k.name, version, path)
				}
				met[row] = true
			}
		}
		for _, f := range k.fields {
			if !met[f.Path] {
				t.Errorf("%s: the table has %s, which no version of the kind has", k.name, f.Path)
			}
			if f.Text == "" || strings.HasSuffix(f.Text, ".") {
				t.Errorf("%s: %s: the text is %q; want a phrase without a full stop", k.name, f.Path, f.Text)
			}
		}
	}
}

func (k kind) rows() []string {
	var rows []string
	for _, f := range k.fields {
		rows = append(rows, f.Path)
	}
	return rows
}

// rowFor is the longest row that a path is, or is below.
func (k kind) rowFor(path string) (string, bool) {
	best := ""
	for _, row := range k.rows() {
		if (path == row || strings.HasPrefix(path, row+".") || strings.HasPrefix(path, row+"[]")) && len(row) > len(best) {
			best = row
		}
	}
	return best, best != ""
}

// leaves are the paths below a type, down to what has a row or is no struct.
func leaves(of reflect.Type, path string, rows []string) []string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	deeper := slices.ContainsFunc(rows, func(row string) bool {
		return strings.HasPrefix(row, path+".") || strings.HasPrefix(row, path+"[]")
	})
	switch {
	case slices.Contains(rows, path) && !deeper:
		return []string{path}
	case of.Kind() == reflect.Slice && deeper:
		return leaves(of.Elem(), path+"[]", rows)
	case of.Kind() != reflect.Struct || strings.HasPrefix(of.PkgPath(), "k8s.io/") && !deeper:
		return []string{path}
	}
	var all []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "":
			all = append(all, leaves(of.Field(i).Type, path, rows)...)
		default:
			all = append(all, leaves(of.Field(i).Type, path+"."+name, rows)...)
		}
	}
	if slices.Contains(rows, path) {
		all = append(all, path)
	}
	return all
}
