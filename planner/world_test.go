package planner

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// world is a cluster in memory: objects, pods, and models of the few controllers
// that carry pods. It models what matters to an update in place and nothing
// else; whether Kubernetes agrees is asked of a real API server elsewhere.
//
// Stored objects are never edited, only replaced. So a view, which is a copy of
// the maps, is a cache as of one moment, and a pointer serves as resourceVersion.
type world struct {
	t      testing.TB
	now    time.Time
	serial int
	view                               // what is stored
	fields map[Ref]map[string]any      // what situ applied last: the fields that it owns
	seen   map[string]*view            // the caches, by who reads them
	images map[types.UID]imagesRunning // the kubelet's memory
	gone   []gonePod                   // every pod that went, in order
	allow  map[types.UID]bool          // pods that some plan said to recreate, or that the test removed
	excuse func(*corev1.Pod) bool      // what may go all the same, nil if nothing may
	nodes  []string
	writes int
}

type imagesRunning map[string]string // by container

type gonePod struct {
	name string
	uid  types.UID
	by   string
}

// view is what somebody knows of the cluster.
type view struct {
	objects map[Ref]*unstructured.Unstructured
	pods    map[string]*corev1.Pod
}

func newWorld(t testing.TB) *world {
	return &world{
		t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), nodes: []string{"n1", "n2", "n3"},
		view:   view{objects: map[Ref]*unstructured.Unstructured{}, pods: map[string]*corev1.Pod{}},
		fields: map[Ref]map[string]any{}, images: map[types.UID]imagesRunning{}, allow: map[types.UID]bool{},
		seen: map[string]*view{},
	}
}

// cache is what a reader has seen so far; at first, nothing.
func (w *world) cache(reader string) *view {
	if w.seen[reader] == nil {
		w.seen[reader] = &view{objects: map[Ref]*unstructured.Unstructured{}, pods: map[string]*corev1.Pod{}}
	}
	return w.seen[reader]
}

// kinds are watched separately, so that each may lag behind alone.
var kinds = []string{"Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ControllerRevision"}

// catchUp brings one kind of a reader's cache up to date.
func (w *world) catchUp(reader, kind string) {
	v := w.cache(reader)
	if kind == "Pod" {
		v.pods = maps.Clone(w.pods)
	}
	maps.DeleteFunc(v.objects, func(r Ref, _ *unstructured.Unstructured) bool { return r.Kind == kind })
	for ref, o := range w.objects {
		if ref.Kind == kind {
			v.objects[ref] = o
		}
	}
}

func (w *world) catchUpAll(reader string) *view {
	for _, kind := range kinds {
		w.catchUp(reader, kind)
	}
	return w.cache(reader)
}

func (v *view) of(kind string) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for ref, o := range v.objects {
		if ref.Kind == kind {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		if c := a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time); c != 0 {
			return c
		}
		return cmpText(a.GetName(), b.GetName())
	})
	return found
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (v *view) ownedBy(owner types.UID, kind string) []*unstructured.Unstructured {
	return slices.DeleteFunc(v.of(kind), func(o *unstructured.Unstructured) bool {
		ref := metav1.GetControllerOf(o)
		return ref == nil || ref.UID != owner
	})
}

func (v *view) podsOf(owner types.UID) []*corev1.Pod {
	var found []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(v.pods)) {
		pod := v.pods[name]
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.UID == owner {
			found = append(found, pod)
		}
	}
	return found
}

func (w *world) uid() types.UID {
	w.serial++
	return types.UID(fmt.Sprintf("uid-%d", w.serial))
}

func refOf(o *unstructured.Unstructured) Ref {
	return Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// create stores a new object as the server would.
func (w *world) create(content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: clone(content).(map[string]any)}
	o.SetUID(w.uid())
	o.SetCreationTimestamp(metav1.NewTime(w.now))
	o.SetGeneration(1)
	w.objects[refOf(o)] = o
	return o
}

// store replaces an object. A changed spec is a new generation; a changed
// template of a DaemonSet a new template generation.
func (w *world) store(content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: clone(content).(map[string]any)}
	old := w.objects[refOf(o)]
	if reflect.DeepEqual(old.Object, o.Object) {
		return old
	}
	if !reflect.DeepEqual(old.Object["spec"], o.Object["spec"]) {
		o.SetGeneration(old.GetGeneration() + 1)
	}
	if o.GetKind() == "DaemonSet" && o.GetAnnotations()[appsv1.DeprecatedTemplateGeneration] == old.GetAnnotations()[appsv1.DeprecatedTemplateGeneration] &&
		!reflect.DeepEqual(at(old.Object, "spec", "template"), at(o.Object, "spec", "template")) {
		bumpTemplateGeneration(o)
	}
	w.objects[refOf(o)] = o
	return o
}

// update is a controller's write, refused if it saw an older version.
func (w *world) update(seen *unstructured.Unstructured, change func(map[string]any)) {
	if w.objects[refOf(seen)] != seen {
		return
	}
	content := clone(seen.Object).(map[string]any)
	change(content)
	w.store(content)
}

func (w *world) createPod(pod *corev1.Pod) {
	if w.pods[pod.Name] != nil {
		return
	}
	pod.UID, pod.Generation, pod.CreationTimestamp = w.uid(), 1, metav1.NewTime(w.now)
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName = w.nodes[w.serial%len(w.nodes)]
	}
	w.pods[pod.Name] = pod
}

func (w *world) deletePod(name, by string) {
	pod := w.pods[name]
	if pod == nil {
		return
	}
	delete(w.pods, name)
	w.gone = append(w.gone, gonePod{name, pod.UID, by})
	if !w.allow[pod.UID] && !isPull(pod) && (w.excuse == nil || !w.excuse(pod)) {
		w.t.Fatalf("%s deleted pod %s (%s), though no plan said recreate or remove", by, name, pod.UID)
	}
}

func isPull(pod *corev1.Pod) bool { return pod.Labels[LabelPull] != "" }

// members are the names of the workload's pods.
func (w *world) members() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.pods)), func(name string) bool { return isPull(w.pods[name]) })
}

// lose removes a pod that nobody of ours decided on.
func (w *world) lose(name string) {
	w.allow[w.pods[name].UID] = true
	w.deletePod(name, "somebody else")
}

func (w *world) snapshot(commit Commit, v *view) Snapshot {
	snap := Snapshot{
		Now: w.now, NodeLabels: map[string]map[string]string{}, Served: Served{Resize: true}, Live: map[Ref]Live{}, Proofs: map[Ref]Proof{},
		Owned: map[types.UID][]*unstructured.Unstructured{}, Pods: map[types.UID][]*corev1.Pod{},
	}
	for _, node := range w.nodes {
		snap.NodeLabels[node] = map[string]string{"name": node}
	}
	for _, m := range commit.Manifests {
		snap.Proofs[m.Ref] = Proof{Object: &unstructured.Unstructured{Object: w.applied(m.Ref, m.Object)}}
		if m.Kind == "Pod" {
			w.seeBarePod(m, v, &snap)
			continue
		}
		if o := v.objects[m.Ref]; o != nil {
			snap.Live[m.Ref] = Live{Object: o, Health: Health{Status: "Current"}}
		}
	}
	for _, kind := range []string{"ReplicaSet", "ControllerRevision"} {
		for _, o := range v.of(kind) {
			if owner := metav1.GetControllerOf(o); owner != nil {
				snap.Owned[owner.UID] = append(snap.Owned[owner.UID], o)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.pods)) {
		pod := v.pods[name]
		if owner := metav1.GetControllerOf(pod); owner != nil {
			snap.Pods[owner.UID] = append(snap.Pods[owner.UID], pod)
		}
		if isPull(pod) {
			snap.Pulls = append(snap.Pulls, pod)
		}
	}
	w.seeStrays(commit, v, &snap)
	return snap
}

func (w *world) seeBarePod(m Manifest, v *view, snap *Snapshot) {
	pod := v.pods[m.Name]
	if pod == nil {
		return
	}
	object := podJSON(pod)
	object["apiVersion"], object["kind"] = "v1", "Pod"
	snap.Live[m.Ref] = Live{Object: &unstructured.Unstructured{Object: object}, Health: Health{Status: "Current"}}
	snap.Pods[pod.UID] = []*corev1.Pod{pod}
}
