package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// UpdateType says whether pods may be, or must be, updated in place.
type UpdateType string

// The update types, named as OpenKruise names them.
const (
	InPlaceIfPossible UpdateType = "InPlaceIfPossible" // the default
	InPlaceOnly       UpdateType = "InPlaceOnly"       // what needs a new pod is refused
	ReCreate          UpdateType = "ReCreate"          // as if there were no update in place
)

// Settings are what the annotations of a workload ask of its rollout.
type Settings struct {
	Update         UpdateType
	Explicit       bool    // the update type was written, not assumed
	Partition      *Amount // pods that stay at the old template; nil: none
	MaxUnavailable *Amount // nil: the workload's own
}

// Amount is a number of pods, or a share of them in percent.
type Amount struct {
	Value   int
	Percent bool
}

func (a Amount) String() string {
	if a.Percent {
		return strconv.Itoa(a.Value) + "%"
	}
	return strconv.Itoa(a.Value)
}

var updateTypes = []UpdateType{InPlaceIfPossible, InPlaceOnly, ReCreate}

// settable are the annotations that a person may write on a workload.
var settable = []string{AnnotationUpdate, AnnotationPartition, AnnotationMaxUnavailable}

// SettingsOf reads the annotations of a workload. The mistakes say what is
// written, and what may be; a setting with a mistake keeps its default.
func SettingsOf(m Manifest) (Settings, []string) {
	settings := Settings{Update: InPlaceIfPossible}
	var mistakes []string
	annotations := mapAt(m.Object, "metadata", "annotations")
	for _, key := range union(annotations, nil) {
		text, _ := annotations[key].(string)
		if !strings.HasPrefix(key, Domain+"/") {
			continue
		}
		switch key {
		case AnnotationUpdate:
			if !slices.Contains(updateTypes, UpdateType(text)) {
				mistakes = append(mistakes, fmt.Sprintf("annotation %s is %q; want InPlaceIfPossible, InPlaceOnly or ReCreate", key, text))
				continue
			}
			settings.Update, settings.Explicit = UpdateType(text), true
		case AnnotationPartition, AnnotationMaxUnavailable:
			amount, ok := parseAmount(text)
			if !ok {
				mistakes = append(mistakes, fmt.Sprintf("annotation %s is %q; want a number of pods such as 2, or a share from 0%% to 100%%", key, text))
				continue
			}
			if key == AnnotationPartition {
				settings.Partition = &amount
			} else {
				settings.MaxUnavailable = &amount
			}
		default:
			mistakes = append(mistakes, fmt.Sprintf("annotation %s is not known; want one of %s", key, strings.Join(settable, ", ")))
		}
	}
	return settings, mistakes
}

func parseAmount(text string) (Amount, bool) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || percent && n > 100 {
		return Amount{}, false
	}
	return Amount{Value: n, Percent: percent}, true
}

// amountAt reads an int-or-string field that the API server has validated.
func amountAt(object map[string]any, path ...string) *Amount {
	switch v := at(object, path...).(type) {
	case string:
		if amount, ok := parseAmount(v); ok {
			return &amount
		}
	case int64, float64, int:
		return &Amount{Value: numberAt(object, 0, path...)}
	}
	return nil
}

// IsWorkload reports whether objects of this kind hold pods that situ updates.
func IsWorkload(r Ref) bool { return hostKind(r) != "" }

func hostKind(r Ref) string {
	switch {
	case r.APIVersion == "apps/v1" && slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}, r.Kind):
		return r.Kind
	case r.APIVersion == "v1" && r.Kind == "Pod":
		return r.Kind
	}
	return ""
}
