package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// Labels and annotations that situ reads or writes. They are part of the
// contract: documented in the README, changed only with a new note version.
const (
	Domain = "situ.gitops"

	LabelRevision = Domain + "/revision" // on pods and pod templates: the template they were made from

	AnnotationUpdate         = Domain + "/update"            // InPlaceIfPossible, InPlaceOnly or ReCreate
	AnnotationPartition      = Domain + "/partition"         // how many pods stay at the old template
	AnnotationMaxUnavailable = Domain + "/max-unavailable"   // how many pods may be unavailable at a time
	AnnotationGrace          = Domain + "/grace-period"      // between "not ready" and the patch, for pods with the readiness gate
	AnnotationDeadline       = Domain + "/progress-deadline" // an updated pod that is not available after it has failed
	AnnotationOnFailure      = Domain + "/on-failure"        // stop (the default), or revert
	AnnotationReverted       = Domain + "/reverted"          // on a workload whose update failed and was taken back
	AnnotationRollout        = Domain + "/rollout"           // on a host that situ holds still for a moment
	AnnotationBaseRevision   = Domain + "/base-revision"     // on a ReplicaSet: what its pods without LabelRevision were made from
	AnnotationKeptRevision   = Domain + "/kept-revision"     // on a ReplicaSet: what a partition keeps pods at
	AnnotationTakeOver       = Domain + "/take-over"         // Deployment: one of the workload's name and selector hands its pods over
	AnnotationHandedOver     = Domain + "/handed-over"       // on a ReplicaSet whose pods go to another workload: which one
	AnnotationHosts          = Domain + "/hosts"             // on a stock object: the kind whose pods it hosts, such as apps.kruise.io/v1alpha1/CloneSet
	AnnotationSource         = Domain + "/source"            // on what situ writes: the source that wants it
	AnnotationState          = Domain + "/state"             // on a pod: its last update in place
)

// Template is a pod template as JSON: "metadata" and "spec".
type Template map[string]any

// bookkeeping are the labels that controllers and situ add to a template or a
// pod to find it again. No template differs because of them.
var bookkeeping = []string{
	LabelRevision,
	appsv1.DefaultDeploymentUniqueLabelKey,
	appsv1.ControllerRevisionHashLabelKey,
	appsv1.DeprecatedTemplateGeneration,
}

// templateOf takes the pod template out of a workload or a ControllerRevision's data.
func templateOf(object map[string]any) Template {
	return plain(mapAt(object, "spec", "template"))
}

// plain is a template without bookkeeping, so that equal templates are equal JSON.
func plain(t map[string]any) Template {
	clean := Template{}
	for _, part := range []string{"metadata", "spec"} {
		if m, ok := t[part].(map[string]any); ok {
			clean[part] = m
		}
	}
	metadata := without(mapAt(clean, "metadata"), "creationTimestamp")
	if labels := without(mapAt(metadata, "labels"), bookkeeping...); len(labels) > 0 {
		metadata["labels"] = labels
	} else {
		delete(metadata, "labels")
	}
	clean["metadata"] = metadata
	return clean
}

// same reports whether two templates are equal to the letter, order of lists
// included: what a controller would find equal.
func same(a, b Template) bool { return reflect.DeepEqual(map[string]any(a), map[string]any(b)) }

// revision names a template by its content. Ten hex digits are enough to tell
// the few templates of one workload apart.
func revision(t Template) string {
	content, err := json.Marshal(t) // map keys come out sorted
	if err != nil {
		panic("a template that came from JSON is JSON: " + err.Error())
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:5])
}

// without is a shallow copy that lacks some keys.
func without(m map[string]any, keys ...string) map[string]any {
	rest := make(map[string]any, len(m))
	for k, v := range m {
		if !slices.Contains(keys, k) {
			rest[k] = v
		}
	}
	return rest
}

// with is a deep copy with one more field.
func with(m map[string]any, value any, path ...string) map[string]any {
	changed := clone(m).(map[string]any)
	at := changed
	for _, key := range path[:len(path)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	at[path[len(path)-1]] = value
	return changed
}

// clone copies JSON, so that a plan never shares memory with what it was made from.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, item := range v {
			m[k] = clone(item)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = clone(item)
		}
		return list
	default:
		return v
	}
}

// at follows a path of keys; nil where it ends early.
func at(object map[string]any, path ...string) any {
	var v any = object
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

func mapAt(object map[string]any, path ...string) map[string]any {
	m, _ := at(object, path...).(map[string]any)
	return m
}

func textAt(object map[string]any, path ...string) string {
	s, _ := at(object, path...).(string)
	return s
}

// numberAt is a whole number, or fallback where there is none. JSON numbers
// come as int64 from the API server and as float64 from plain decoders.
func numberAt(object map[string]any, fallback int, path ...string) int {
	switch n := at(object, path...).(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	case int:
		return n
	default:
		return fallback
	}
}
