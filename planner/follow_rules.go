package planner

import (
	"reflect"
	"slices"
	"strconv"
)

// kruiseRules is what OpenKruise does about one difference of two templates. It
// compares them to the letter and by position, never looks at the pod, and takes
// only a replaced image and metadata for possible in place (its feature gates as
// they are by default). The first row that fits decides.
var kruiseRules = []struct {
	Rule
	fits func(c Change, to Template) bool
}{
	{Rule{ID: "kruise-env-from-metadata", Verdict: Restart, Reason: "an env of these containers reads it; OpenKruise's node agent restarts them"},
		func(c Change, to Template) bool { return c.New != nil && len(regularReaders(c, to)) > 0 }},
	{Rule{ID: "kruise-metadata", Verdict: Metadata, Reason: "OpenKruise patches labels and annotations; nothing restarts"},
		func(c Change, _ Template) bool { return c.path[0].key == "metadata" }},
	{Rule{ID: "kruise-image", Verdict: Restart, Reason: "OpenKruise patches the image; the kubelet restarts this container in the same pod"},
		func(c Change, _ Template) bool {
			return c.Old != nil && c.New != nil && field("spec", "containers", "image")(c)
		}},
	{Rule{ID: "kruise-pod-spec", Verdict: Recreate, Reason: "OpenKruise replaces the pod for it"},
		func(Change, Template) bool { return true }},
}

func kruiseRule(c Change, to Template) Rule {
	for _, row := range kruiseRules {
		if row.fits(c, to) {
			return row.Rule
		}
	}
	panic("the last rule catches everything")
}

func kruiseVerdict(id string) Verdict {
	for _, row := range kruiseRules {
		if row.ID == id {
			return row.Verdict
		}
	}
	return Refuse
}

// regularReaders are the containers whose env reads a changed label or annotation.
// OpenKruise looks at regular ones only.
func regularReaders(c Change, to Template) []string {
	names := readers(asked{Change: c, to: to})
	regular, _ := at(map[string]any(to), "spec", "containers").([]any)
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(regular, func(item any) bool {
			container, _ := item.(map[string]any)
			return container["name"] == name
		})
	})
}

// literalTemplate is a template without what says nothing: typed encoders write
// fields such as "resources: {}" that people leave out.
func literalTemplate(object map[string]any) Template {
	tidied, _ := tidy(map[string]any(templateOf(object))).(map[string]any)
	return Template(tidied)
}

func tidy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		rest := map[string]any{}
		for key, value := range v {
			inner := tidy(value)
			if fields, is := inner.(map[string]any); inner == nil || is && len(fields) == 0 && key != "emptyDir" {
				continue
			}
			rest[key] = inner
		}
		return rest
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = tidy(v[i])
		}
		return list
	}
	return v
}

// literalChanges lists what differs between two templates to the letter, list
// items by their position.
func literalChanges(from, to Template) []Change {
	var found []Change
	for _, part := range []string{"metadata", "spec"} {
		literal(&found, []step{{key: part}}, from[part], to[part])
	}
	return found
}

func literal(found *[]Change, path []step, from, to any) {
	if reflect.DeepEqual(from, to) || equalQuantities(path, from, to) {
		return
	}
	fromMap, fromIs := from.(map[string]any)
	toMap, toIs := to.(map[string]any)
	if fromIs && toIs {
		for _, key := range union(fromMap, toMap) {
			literal(found, append(slices.Clip(path), step{key: key}), fromMap[key], toMap[key])
		}
		return
	}
	fromList, fromIs := from.([]any)
	toList, toIs := to.([]any)
	if !fromIs || !toIs || len(fromList) != len(toList) {
		add(found, path, from, to, false)
		return
	}
	for i := range fromList {
		last := len(path) - 1
		literal(found, append(slices.Clip(path[:last]), step{key: path[last].key, item: nameOf(fromList[i], i)}), fromList[i], toList[i])
	}
}

// nameOf is what people call an item of a list.
func nameOf(item any, position int) string {
	fields, _ := item.(map[string]any)
	if name, _ := fields["name"].(string); name != "" {
		return name
	}
	return strconv.Itoa(position)
}
