package planner

import (
	"encoding/json"
	"slices"
	"strings"
)

// withoutSidecars is a pod, live or as the server would make it, without what
// SidecarSets have given it. Git's text of the pod has none of it, and a set's
// change is no change of the pod.
func withoutSidecars(pod map[string]any) map[string]any {
	annotations := mapAt(pod, "metadata", "annotations")
	var keys []string
	given := map[string][]string{} // list of the spec -> names
	for _, key := range union(annotations, nil) {
		if !strings.HasPrefix(key, AnnotationSidecarSet) {
			continue
		}
		keys = append(keys, key)
		var record SidecarRecord
		if json.Unmarshal([]byte(textAt(annotations, key)), &record) != nil {
			continue
		}
		for part := range record.Parts {
			list, name, _ := strings.Cut(part, "/")
			given[list] = append(given[list], name)
		}
	}
	if len(keys) == 0 {
		return pod
	}
	spec := without(mapAt(pod, "spec"))
	for list, names := range given {
		items, _ := spec[list].([]any)
		rest := slices.DeleteFunc(slices.Clone(items), func(item any) bool {
			fields, _ := item.(map[string]any)
			return slices.Contains(names, textAt(fields, "name"))
		})
		if len(rest) == 0 {
			delete(spec, list)
			continue
		}
		spec[list] = rest
	}
	metadata := without(mapAt(pod, "metadata"), "annotations")
	if own := without(annotations, append(keys, AnnotationKruiseInjected)...); len(own) > 0 {
		metadata["annotations"] = own
	}
	return with(with(pod, metadata, "metadata"), spec, "spec")
}
