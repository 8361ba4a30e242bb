package manifest

import (
	"maps"
	"slices"
	"strings"

	"situ.gitops/planner"
	"situ.gitops/planner/kruise"
)

// foreign is what a repository cannot know: it belongs to one cluster, or is
// situ's own record of what it did there. Believing it would let a file forge
// that record.
func (d *document) foreign(at where, ref planner.Ref, fields map[string]any) {
	if owners, _ := lookup(fields, "metadata", "ownerReferences").([]any); len(owners) > 0 {
		d.say(steps(at, "metadata", "ownerReferences"), "names an owner by its UID, which is another one in each cluster: the object would be deleted as an orphan; remove it")
	}
	d.records(steps(at, "metadata", "labels"), lookup(fields, "metadata", "labels"))
	if !planner.IsWorkload(ref) && !kruise.Is(ref) {
		return
	}
	for _, name := range []string{"labels", "annotations"} {
		d.records(steps(at, "spec", "template", "metadata", name), lookup(fields, "spec", "template", "metadata", name))
	}
}

// records are labels or annotations that situ writes itself.
func (d *document) records(at where, value any) {
	pairs, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		if strings.HasPrefix(key, planner.Domain+"/") {
			d.say(append(slices.Clip(at), key), "is written by situ itself; remove it, or move a setting to the annotations of the workload")
		}
	}
}
