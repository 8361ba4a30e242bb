package planner

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Drift is a field that a running pod has otherwise than the template that it was
// made from or last brought to, and that no commit changes now: somebody else has
// written it. It is told and left alone, since nothing says whether it was meant.
// A commit that changes the field ends it; so does a new pod.
type Drift struct {
	Field    string `json:"field"`
	Template string `json:"template,omitempty"` // its value there; both values are left out where an env reads them
	Live     string `json:"live,omitempty"`     // its value in the running pod; "": it is gone
	Text     string `json:"text"`               // the field in words: "image of container web"
}

// written are the fields of a template that others can write on a running pod
// and that no controller puts right. The rest of a pod never changes. What only
// the pod has, a label or a container, was never the template's and is nobody's drift.
type written struct {
	images   []writtenImage
	metadata []writtenText
	amounts  []podAmount
}

type writtenImage struct {
	container, image string
	path             []step
}

type writtenText struct {
	kind, key, value string // "labels", "tier", "web"
	hidden           bool   // an env reads it
	path             []step
}

func writtenIn(t Template) written {
	w := written{amounts: resizable(t)}
	for _, c := range containersOf(t) {
		list := "containers"
		if c.init {
			list = "initContainers"
		}
		path := []step{{key: "spec"}, {key: list, item: c.name}, {key: "image"}}
		w.images = append(w.images, writtenImage{container: c.name, image: textAt(c.spec, "image"), path: path})
	}
	for _, kind := range []string{"labels", "annotations"} {
		values := mapAt(t, "metadata", kind)
		for _, key := range union(values, nil) {
			path := []step{{key: "metadata"}, {key: kind}, {key: key}}
			hidden := slices.ContainsFunc(containersOf(t), func(c containerSpec) bool { return reads(c, kind, key) })
			w.metadata = append(w.metadata, writtenText{kind: kind, key: key, value: textAt(values, key), hidden: hidden, path: path})
		}
	}
	return w
}

// drift is what a pod has otherwise, but for what is about to change anyway, or
// what is left of an earlier update.
func (w *written) drift(pod *corev1.Pod, mark Mark, changing, rest []Change) []Drift {
	found := w.driftOfMetadata(pod)
	if pod.Generation != 1 { // else its spec is as it was admitted: what differs there was meant
		found = append(found, w.driftOfSpec(pod, mark)...)
	}
	return slices.DeleteFunc(found, func(d Drift) bool {
		return slices.ContainsFunc(slices.Concat(changing, rest), func(c Change) bool { return c.Field == d.Field })
	})
}

func (w *written) driftOfMetadata(pod *corev1.Pod) []Drift {
	var found []Drift
	for i := range w.metadata {
		want := &w.metadata[i]
		values := pod.Labels
		if want.kind == "annotations" {
			values = pod.Annotations
		}
		live, has := values[want.key]
		if has && live == want.value {
			continue
		}
		d := Drift{Field: fieldName(want.path), Text: strings.TrimSuffix(want.kind, "s") + " " + want.key}
		if !want.hidden {
			d.Template, d.Live = clip(want.value), clip(live)
		}
		found = append(found, d)
	}
	return found
}

func (w *written) driftOfSpec(pod *corev1.Pod, mark Mark) []Drift {
	var found []Drift
	for i := range w.images {
		want := &w.images[i]
		live := liveImage(pod, want.container)
		if live == "" || live == want.image || sameContent(namedImage(mark, live), want.image) {
			continue
		}
		found = append(found, Drift{Field: fieldName(want.path), Template: want.image, Live: namedImage(mark, live),
			Text: "image of container " + want.container})
	}
	for i := range w.amounts {
		want := &w.amounts[i]
		c := liveContainer(pod, want.container)
		if c == nil {
			continue
		}
		has, ok := amountsOf(c.Resources, want.kind)[corev1.ResourceName(want.name)]
		if !ok || want.text == "" || has.Cmp(want.value) == 0 {
			continue
		}
		found = append(found, Drift{Field: fieldName(want.path), Template: want.text, Live: has.String(),
			Text: want.name + " " + strings.TrimSuffix(want.kind, "s") + " of container " + want.container})
	}
	return found
}

// sameContent: the live name is the wanted one, or it with the digest that some
// admission webhook has found for it.
func sameContent(live, want string) bool {
	name, _, _ := strings.Cut(live, "@")
	return live == want || name == want
}

// DriftOf is the drift of one pod of a workload, apart from any commit. It is
// nothing where the pod's template is not known; a bare pod has none but itself.
func DriftOf(workload *unstructured.Unstructured, owned map[types.UID][]*unstructured.Unstructured, pod *corev1.Pod) []Drift {
	ref := Ref{APIVersion: workload.GetAPIVersion(), Kind: workload.GetKind(), Namespace: workload.GetNamespace(), Name: workload.GetName()}
	if !IsWorkload(ref) || ref.Kind == "Pod" {
		return nil
	}
	r := &rollout{manifest: Manifest{Ref: ref}, live: Live{Object: workload}, proof: Proof{Object: workload}, want: templateOf(workload.Object)}
	snap := Snapshot{Owned: owned, Pods: map[types.UID][]*corev1.Pod{}}
	for i := range pod.OwnerReferences {
		snap.Pods[pod.OwnerReferences[i].UID] = []*corev1.Pod{pod}
	}
	m := hostOf(r, snap).made(pod)
	if !m.known {
		return nil
	}
	w := writtenIn(templateOf(m.from))
	return w.drift(pod, markOf(pod), nil, nil)
}
