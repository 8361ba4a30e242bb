package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UpdateType says whether pods may be, or must be, updated in place.
type UpdateType string

// The update types, named as OpenKruise names them.
const (
	InPlaceIfPossible UpdateType = "InPlaceIfPossible" // the default
	InPlaceOnly       UpdateType = "InPlaceOnly"       // what needs a new pod is refused
	ReCreate          UpdateType = "ReCreate"          // as if there were no update in place
)

// Settings are what a workload asks of its rollout, by its annotations or as the
// kind that Git has asks for it.
type Settings struct {
	Update         UpdateType
	Explicit       bool          // the update type was written, not assumed
	Partition      *Amount       // pods that stay at the old template; nil: none
	MaxUnavailable *Amount       // nil: the workload's own
	Grace          time.Duration // between "not ready" and the patch, for pods with the readiness gate
	Deadline       time.Duration // an updated pod that is not available after it has failed
	Revert         bool          // a failed update is taken back
	TakeOver       string        // the kind of a workload of the same name whose pods this one takes
	Hooks          Hooks         // what pods wait for
	MaxSurge       *Amount       // pods beyond those wanted, while some must be made anew; nil: none
	Delete         []string      // pods that are to go

	Paused   bool     // pods stay as they are; what is missing is made from the new template
	OnDelete bool     // as Paused: a pod is made anew when somebody deletes it
	Priority Priority // which pods come first, before the host's own order
	Scatter  []Scatter
	History  *int // how many templates are remembered beyond those that pods have; nil: the host's own number

	// Of a StatefulSet.
	AnyOrder   bool // pods need not come from the highest ordinal down; its partition is a number of them
	KeepClaims bool // claims stay as they are when their templates change

	// Of a DaemonSet.
	Nodes *metav1.LabelSelector // pods on other nodes stay; nil: on none
}

// DefaultSettings are those of a workload that asks for nothing.
func DefaultSettings() Settings {
	return Settings{Update: InPlaceIfPossible, Deadline: DefaultDeadline}
}

// keeps says why no pod is updated at all, "" if pods are.
func (s Settings) keeps() string {
	switch {
	case s.Paused:
		return keptPaused
	case s.OnDelete:
		return "kept until somebody deletes them"
	}
	return ""
}

// history is how many templates are remembered beyond those that pods have.
func (s Settings) history() int {
	if s.History == nil {
		return keepRecords
	}
	return *s.History
}

// DefaultDeadline is a Deployment's default progressDeadlineSeconds.
const DefaultDeadline = 10 * time.Minute

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
var settable = []string{
	AnnotationUpdate, AnnotationPartition, AnnotationMaxUnavailable,
	AnnotationGrace, AnnotationDeadline, AnnotationOnFailure, AnnotationTakeOver,
}

// SettingsOf reads the annotations of a workload; they outrank what a kind of its
// own asks for. The mistakes say what is
// written, and what may be; a setting with a mistake keeps its default.
func SettingsOf(m Manifest) (Settings, []string) {
	settings := DefaultSettings()
	if m.Hosting != nil {
		settings = m.Hosting.Settings
	}
	var mistakes []string
	annotations := mapAt(m.Object, "metadata", "annotations")
	for _, key := range union(annotations, nil) {
		text, _ := annotations[key].(string)
		if !strings.HasPrefix(key, Domain+"/") || key == AnnotationHosts && m.Hosting != nil {
			continue
		}
		if want := settings.set(key, text); want != "" {
			mistakes = append(mistakes, fmt.Sprintf("annotation %s is %q; want %s", key, text, want))
		}
	}
	return settings, mistakes
}

// set takes one annotation in, or says what it should have been.
func (s *Settings) set(key, text string) (want string) {
	amount, isAmount := ParseAmount(text)
	duration, isDuration := parseDuration(text)
	switch {
	case key == AnnotationUpdate && slices.Contains(updateTypes, UpdateType(text)):
		s.Update, s.Explicit = UpdateType(text), true
	case key == AnnotationUpdate:
		return "InPlaceIfPossible, InPlaceOnly or ReCreate"
	case key == AnnotationPartition && isAmount:
		s.Partition = &amount
	case key == AnnotationMaxUnavailable && isAmount:
		s.MaxUnavailable = &amount
	case key == AnnotationPartition || key == AnnotationMaxUnavailable:
		return "a number of pods such as 2, or a share from 0% to 100%"
	case key == AnnotationGrace && isDuration:
		s.Grace = duration
	case key == AnnotationDeadline && isDuration && duration > 0:
		s.Deadline = duration
	case key == AnnotationGrace || key == AnnotationDeadline:
		return "a time such as 30s or 10m"
	case key == AnnotationOnFailure && (text == "stop" || text == "revert"):
		s.Revert = text == "revert"
	case key == AnnotationOnFailure:
		return "stop or revert"
	case key == AnnotationTakeOver && text == "Deployment":
		s.TakeOver = text
	case key == AnnotationTakeOver:
		return "Deployment"
	default:
		return "no such annotation: those that a workload may have are " + strings.Join(settable, ", ")
	}
	return ""
}

// parseDuration takes 30s, 10m, or plain seconds as OpenKruise has them.
func parseDuration(text string) (time.Duration, bool) {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return time.Duration(n) * time.Second, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

// ParseAmount reads a number of pods, or a share of them from 0% to 100%.
func ParseAmount(text string) (Amount, bool) {
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
		if amount, ok := ParseAmount(v); ok {
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
