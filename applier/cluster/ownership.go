package cluster

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// handedOver gives the managed fields with kubectl's entries merged into one of
// the manager's, and whether kubectl had any.
func handedOver(entries []metav1.ManagedFieldsEntry, manager, apiVersion string, intent, wanted map[string]any) ([]metav1.ManagedFieldsEntry, bool, error) {
	taken := fieldpath.NewSet()
	var kept []metav1.ManagedFieldsEntry
	found := false
	for _, entry := range entries {
		ours := entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
		if !ours && !isKubectls(entry) {
			kept = append(kept, entry)
			continue
		}
		found = found || !ours
		fields, err := fieldsOf(entry)
		if err != nil {
			return nil, false, err
		}
		if entry.APIVersion != apiVersion {
			continue // the paths of another version may be others
		}
		if entry.Operation == metav1.ManagedFieldsOperationUpdate {
			fields = meant(fields, intent, wanted)
		}
		taken = taken.Union(fields)
	}
	if !found || taken.Empty() {
		return entries, false, nil
	}
	now := metav1.Now()
	ours := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: apiVersion, Time: &now, FieldsType: "FieldsV1"}
	return append(kept, withFields(ours, taken)), true, nil
}

// meant keeps those fields that somebody wrote down, then or now.
func meant(fields *fieldpath.Set, intent, wanted map[string]any) *fieldpath.Set {
	kept := fieldpath.NewSet()
	fields.Iterate(func(path fieldpath.Path) {
		if has(intent, path) || has(wanted, path) {
			kept.Insert(path.Copy())
		}
	})
	return kept
}

// givenUp takes fields, such as "spec.replicas", out of the manager's own. Their
// values stay, as nobody's.
func givenUp(entries []metav1.ManagedFieldsEntry, manager string, paths []string) ([]metav1.ManagedFieldsEntry, bool, error) {
	given := fieldpath.NewSet()
	for _, path := range paths {
		var elements fieldpath.Path
		for _, name := range strings.Split(path, ".") {
			elements = append(elements, fieldpath.PathElement{FieldName: &name})
		}
		given.Insert(elements)
	}
	left, changed := slices.Clone(entries), false
	for i, entry := range left {
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		fields, err := fieldsOf(entry)
		if err != nil {
			return nil, false, err
		}
		if !fields.Intersection(given).Empty() {
			left[i], changed = withFields(entry, fields.Difference(given)), true
		}
	}
	return left, changed, nil
}

func withFields(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) metav1.ManagedFieldsEntry {
	text, err := fields.ToJSON()
	if err != nil {
		panic("managed fields that were JSON before: " + err.Error())
	}
	entry.FieldsV1 = &metav1.FieldsV1{}
	entry.FieldsV1.SetRawBytes(text)
	return entry
}

func fieldsOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 == nil {
		return fields, nil
	}
	if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("read the managed fields of %s: %w", entry.Manager, err)
	}
	return fields, nil
}

// withoutOthers takes out of an intent what somebody else owns by now: it stays
// when it is adopted, whoever wanted it once.
func withoutOthers(intent map[string]any, entries []metav1.ManagedFieldsEntry, manager string) error {
	for _, entry := range entries {
		if entry.Manager == manager || isKubectls(entry) {
			continue
		}
		fields, err := fieldsOf(entry)
		if err != nil {
			return err
		}
		fields.Leaves().Iterate(func(path fieldpath.Path) { drop(intent, path) })
	}
	return nil
}

// has says whether an object has something at a path.
func has(object map[string]any, path fieldpath.Path) bool {
	if object == nil {
		return false
	}
	_, ok := follow(object, path)
	return ok
}

// drop deletes the field at a path, if it is there.
func drop(object map[string]any, path fieldpath.Path) {
	last := path[len(path)-1]
	if last.FieldName == nil {
		return // an element of a list goes with its fields
	}
	parent, _ := follow(object, path[:len(path)-1])
	if fields, ok := parent.(map[string]any); ok {
		delete(fields, *last.FieldName)
	}
}

func follow(node any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		next, ok := step(node, element)
		if !ok {
			return nil, false
		}
		node = next
	}
	return node, true
}

// step goes one element down: to a field, or to the element of a list that has
// that key, value or index. A key that an object leaves to its default fits.
func step(node any, element fieldpath.PathElement) (any, bool) {
	if element.FieldName != nil {
		fields, _ := node.(map[string]any)
		next, ok := fields[*element.FieldName]
		return next, ok
	}
	list, _ := node.([]any)
	for i, item := range list {
		switch {
		case element.Index != nil && *element.Index == i:
			return item, true
		case element.Value != nil && value.Equals(*element.Value, value.NewValueInterface(item)):
			return item, true
		case element.Key != nil && fits(item, *element.Key):
			return item, true
		}
	}
	return nil, false
}

func fits(item any, key value.FieldList) bool {
	fields, ok := item.(map[string]any)
	matched := false
	for _, field := range key {
		given, has := fields[field.Name]
		if !has {
			continue
		}
		if !value.Equals(field.Value, value.NewValueInterface(given)) {
			return false
		}
		matched = true
	}
	return ok && matched
}
