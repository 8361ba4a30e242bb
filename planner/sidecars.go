package planner

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Sidecars is what a SidecarSet asks for beside its policy, which gives its
// containers to pods that are made. The planner updates those of running pods.
type Sidecars struct {
	Set        string                // its name
	Pods       *metav1.LabelSelector // whose pods
	Namespaces *metav1.LabelSelector // in which namespaces
	Named      []string              // those namespaces, if the set names them
	Record     SidecarRecord         // what the policy writes on a pod that it gives them to
	Template   Template              // the containers, as far as an update needs them
	NotUpdate  bool                  // running pods stay as they are
	Among      *metav1.LabelSelector // which pods are updated; nil: all
	Metadata   map[string]string     // annotations that come with an update in place
	Injecting  bool                  // pods that are made get the containers
}

// AnnotationSidecarSet and the name of a SidecarSet are the annotation of a pod
// that says which set gave it containers, and what was last made of them.
const AnnotationSidecarSet = Domain + "/sidecarset."

// SidecarRecord is what a pod remembers of a SidecarSet. Its policy writes it when
// the pod is made, an update in place when it is patched: each with what it tells.
type SidecarRecord struct {
	Version  int               `json:"v"`
	Revision string            `json:"revision"`         // of the set
	Images   map[string]string `json:"images"`           // container -> the image that the set gave it
	Parts    map[string]string `json:"parts"`            // "containers/mesh", "volumes/logs" -> digest of everything but images
	Update   *Mark             `json:"update,omitempty"` // the last update in place
}

// String is the record as it stands on a pod.
func (s SidecarRecord) String() string { return jsonText(s) }

// recordOf reads what a pod remembers of a set, false if it was never given its containers.
func (s *Sidecars) recordOf(pod *corev1.Pod) (SidecarRecord, bool) {
	var record SidecarRecord
	text, has := pod.Annotations[AnnotationSidecarSet+s.Set]
	if !has || json.Unmarshal([]byte(text), &record) != nil {
		return SidecarRecord{}, false
	}
	return record, true
}

// AnnotationKruiseInjected is where OpenKruise's own tools look for the sets of a pod.
const AnnotationKruiseInjected = "kruise.io/sidecarset-injected-list"

// fromKruise: OpenKruise has given the pod the containers of the set, before situ came.
func (s *Sidecars) fromKruise(pod *corev1.Pod) bool {
	if !slices.Contains(strings.Split(pod.Annotations[AnnotationKruiseInjected], ","), s.Set) {
		return false
	}
	return !slices.ContainsFunc(containersOf(s.Template), func(c containerSpec) bool { return !c.plainInit && liveImage(pod, c.name) == "" })
}

// Matches reports whether a pod of a namespace is one that the set gives containers to.
func (s *Sidecars) Matches(pod labels.Set) bool { return matches(s.Pods, pod) }

// Covers reports whether the set gives containers to pods of a namespace with these labels.
func (s *Sidecars) Covers(namespace labels.Set) bool { return matches(s.Namespaces, namespace) }

// matches: a selector that is not there matches all.
func matches(selector *metav1.LabelSelector, of labels.Set) bool {
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(of) // it was checked before
}

// sidecarMarks are the updates in place that SidecarSets have left on a pod.
func sidecarMarks(pod *corev1.Pod) []Mark { return sidecarMarksBut(pod, "") }

// sidecarMarksBut leaves out those of one set.
func sidecarMarksBut(pod *corev1.Pod, set string) []Mark {
	var keys []string
	for key := range pod.Annotations {
		if strings.HasPrefix(key, AnnotationSidecarSet) && (set == "" || key != AnnotationSidecarSet+set) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var marks []Mark
	for _, key := range keys {
		var record SidecarRecord
		if json.Unmarshal([]byte(pod.Annotations[key]), &record) == nil && record.Update != nil {
			marks = append(marks, *record.Update)
		}
	}
	return marks
}
