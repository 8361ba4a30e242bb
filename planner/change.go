package planner

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Change is one field in which two templates differ.
type Change struct {
	Field     string // "spec.containers[web].image"
	Old, New  any    // nil: absent
	Reordered bool   // the same items in another order
	path      []step
}

// step is one hop of a path: a key of an object, or an item of a list by its merge key.
type step struct{ key, item string }

// Container is the container that the change belongs to, "" for the pod itself,
// and whether it is an init container.
func (c Change) Container() (name string, init bool) {
	if len(c.path) < 3 || c.path[0].key != "spec" {
		return "", false
	}
	switch c.path[1].key {
	case "containers":
		return c.path[1].item, false
	case "initContainers":
		return c.path[1].item, true
	}
	return "", false
}

// mergeKeys names the fields that tell the items of a list apart, as the
// Kubernetes API declares them (patchMergeKey and listMapKey of core/v1). A list
// that is not here is one value: its order counts.
var mergeKeys = map[string][]string{
	"containers":                {"name"},
	"initContainers":            {"name"},
	"ephemeralContainers":       {"name"},
	"env":                       {"name"},
	"ports":                     {"containerPort", "protocol"},
	"volumeMounts":              {"mountPath"},
	"volumeDevices":             {"devicePath"},
	"volumes":                   {"name"},
	"imagePullSecrets":          {"name"},
	"hostAliases":               {"ip"},
	"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	"readinessGates":            {"conditionType"},
	"resourceClaims":            {"name"},
	"schedulingGates":           {"name"},
	"resizePolicy":              {"resourceName"},
}

// changes lists what differs between two templates, in the order of the fields.
func changes(from, to Template) []Change {
	var found []Change
	for _, part := range []string{"metadata", "spec"} {
		compare(&found, []step{{key: part}}, from[part], to[part])
	}
	return found
}

func compare(found *[]Change, path []step, from, to any) {
	if reflect.DeepEqual(from, to) {
		return
	}
	fromMap, fromIs := from.(map[string]any)
	toMap, toIs := to.(map[string]any)
	if (fromIs || from == nil) && (toIs || to == nil) {
		compareMaps(found, path, fromMap, toMap)
		return
	}
	keys, keyed := mergeKeys[path[len(path)-1].key]
	fromList, fromIs := from.([]any)
	toList, toIs := to.([]any)
	if keyed && (fromIs || from == nil) && (toIs || to == nil) {
		compareLists(found, path, keys, fromList, toList)
		return
	}
	if equalQuantities(path, from, to) {
		return
	}
	add(found, path, from, to, false)
}

func compareMaps(found *[]Change, path []step, from, to map[string]any) {
	for _, key := range union(from, to) {
		compare(found, append(slices.Clip(path), step{key: key}), from[key], to[key])
	}
}

// compareLists compares the items of two lists by their merge key. An item that
// only one side has is one change; so is another order of the same items.
func compareLists(found *[]Change, path []step, keys []string, from, to []any) {
	fromItems, fromOrder := index(keys, from)
	toItems, toOrder := index(keys, to)
	last := path[len(path)-1].key
	for _, id := range union(fromItems, toItems) {
		itemPath := append(slices.Clip(path[:len(path)-1]), step{key: last, item: id})
		before, had := fromItems[id]
		after, has := toItems[id]
		if had && has {
			compare(found, itemPath, before, after)
			continue
		}
		add(found, itemPath, before, after, false)
	}
	slices.Sort(fromOrder)
	if sorted := slices.Sorted(slices.Values(toOrder)); !slices.Equal(fromOrder, sorted) {
		return // items came or went: their order says nothing
	}
	if _, original := index(keys, from); !slices.Equal(original, toOrder) {
		add(found, path, from, to, true)
	}
}

func index(keys []string, list []any) (map[string]any, []string) {
	items := make(map[string]any, len(list))
	order := make([]string, 0, len(list))
	for _, item := range list {
		var parts []string
		for _, key := range keys {
			if m, ok := item.(map[string]any); ok && m[key] != nil {
				parts = append(parts, fmt.Sprint(m[key]))
			}
		}
		id := strings.Join(parts, "/")
		items[id] = item
		order = append(order, id)
	}
	return items, order
}

func add(found *[]Change, path []step, from, to any, reordered bool) {
	*found = append(*found, Change{Field: fieldName(path), Old: from, New: to, Reordered: reordered, path: slices.Clone(path)})
}

func fieldName(path []step) string {
	var b strings.Builder
	for i, s := range path {
		switch {
		case strings.ContainsAny(s.key, "./"):
			b.WriteString("[" + s.key + "]") // a label or annotation key
		case i > 0:
			b.WriteString("." + s.key)
		default:
			b.WriteString(s.key)
		}
		if s.item != "" {
			b.WriteString("[" + s.item + "]")
		}
	}
	return b.String()
}

// equalQuantities compares amounts by value: 1000m is 1.
func equalQuantities(path []step, from, to any) bool {
	if !slices.ContainsFunc(path, func(s step) bool {
		return slices.Contains([]string{"requests", "limits", "sizeLimit", "divisor", "overhead"}, s.key)
	}) {
		return false
	}
	a, errA := resource.ParseQuantity(fmt.Sprint(from))
	b, errB := resource.ParseQuantity(fmt.Sprint(to))
	return errA == nil && errB == nil && a.Cmp(b) == 0
}

func union[V any](a, b map[string]V) []string {
	keys := make([]string, 0, len(a)+len(b))
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}
