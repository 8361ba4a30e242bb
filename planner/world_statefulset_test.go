package planner

import (
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// statefulSets is the StatefulSet controller. It expects nothing: it acts on the
// pods that its cache shows, however old that is.
func (w *world) statefulSets() {
	v := w.cache("statefulset")
	for _, s := range v.of("StatefulSet") {
		update, ok := w.statefulRevision(s, v.ownedBy(s.GetUID(), "ControllerRevision"))
		if !ok {
			continue
		}
		current := textAt(s.Object, "status", "currentRevision")
		if current == "" {
			current = update
		}
		sync := &statefulSync{w, s, v, current, update, map[int]*corev1.Pod{}, numberAt(s.Object, 0, "spec", "ordinals", "start")}
		for _, pod := range v.podsOf(s.GetUID()) {
			n := (&statefulSet{object: &unstructured.Unstructured{Object: map[string]any{}}}).ordinal(pod)
			sync.byOrdinal[n] = pod
		}
		if sync.scale() {
			sync.roll()
		}
		sync.status()
	}
}

type statefulSync struct {
	w               *world
	set             *unstructured.Unstructured
	seen            *view
	current, update string
	byOrdinal       map[int]*corev1.Pod
	start           int
}

func (y *statefulSync) replicas() int { return numberAt(y.set.Object, 1, "spec", "replicas") }

func (y *statefulSync) parallel() bool {
	return textAt(y.set.Object, "spec", "podManagementPolicy") == "Parallel"
}

func (y *statefulSync) partition() int {
	return numberAt(y.set.Object, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
}

func (y *statefulSync) rolling() bool {
	return textAt(y.set.Object, "spec", "updateStrategy", "type") == "RollingUpdate"
}

// scale creates what is missing and deletes what is too many. It reports whether
// the rolling update may go on.
func (y *statefulSync) scale() bool {
	for i := range y.replicas() {
		n := y.start + i
		pod := y.byOrdinal[n]
		if pod == nil {
			y.create(n)
		}
		if !y.parallel() && (pod == nil || !isReady(pod)) {
			return false
		}
	}
	extra := []int{}
	for n := range y.byOrdinal {
		if n < y.start || n >= y.start+y.replicas() {
			extra = append(extra, n)
		}
	}
	slices.Sort(extra)
	for _, n := range slices.Backward(extra) {
		y.w.allow[y.byOrdinal[n].UID] = true // the count of a set is not situ's business
		y.w.deletePod(y.byOrdinal[n].Name, "statefulset/"+y.set.GetName())
		if !y.parallel() {
			return false
		}
	}
	return true
}

// create makes a pod below the partition from the current revision.
func (y *statefulSync) create(n int) {
	name := y.update
	if y.rolling() && n < y.start+y.partition() {
		name = y.current
	}
	template := mapAt(y.set.Object, "spec", "template")
	for _, o := range y.seen.ownedBy(y.set.GetUID(), "ControllerRevision") {
		if o.GetName() == name {
			template = without(mapAt(o.Object, "data", "spec", "template"), "$patch")
		}
	}
	pod := podOf(y.set, template, fmt.Sprintf("%s-%d", y.set.GetName(), n))
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = name
	y.w.createPod(pod)
}

// roll deletes pods of an old revision, the highest first, down to the partition.
func (y *statefulSync) roll() {
	if !y.rolling() {
		return
	}
	budget := max(1, resolveMaxUnavailable(amountAt(y.set.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), y.replicas(), 1))
	unavailable := 0
	for i := range y.replicas() {
		if pod := y.byOrdinal[y.start+i]; pod == nil || !isReady(pod) {
			unavailable++
		}
	}
	for i := y.replicas() - 1; i >= y.partition(); i-- {
		pod := y.byOrdinal[y.start+i]
		if pod == nil || pod.Labels[appsv1.ControllerRevisionHashLabelKey] == y.update {
			if pod == nil || !isReady(pod) {
				if unavailable >= budget {
					return
				}
			}
			continue
		}
		if isReady(pod) && unavailable >= budget {
			return
		}
		unavailable += boolInt(isReady(pod))
		y.w.deletePod(pod.Name, "statefulset/"+y.set.GetName())
	}
}

func (y *statefulSync) status() {
	updated, ready, old := 0, 0, 0
	for i := range y.replicas() {
		if pod := y.byOrdinal[y.start+i]; pod != nil {
			updated += boolInt(pod.Labels[appsv1.ControllerRevisionHashLabelKey] == y.update)
			old += boolInt(pod.Labels[appsv1.ControllerRevisionHashLabelKey] == y.current)
			ready += boolInt(isReady(pod))
		}
	}
	current := y.current
	if updated == y.replicas() && ready == y.replicas() {
		current, old = y.update, updated
	}
	y.w.update(y.set, func(o map[string]any) {
		o["status"] = map[string]any{
			"observedGeneration": y.set.GetGeneration(), "replicas": int64(len(y.byOrdinal)), "updatedReplicas": int64(updated),
			"currentRevision": current, "updateRevision": y.update, "currentReplicas": int64(old),
		}
	})
}

// statefulRevision is the name of the template's ControllerRevision.
func (w *world) statefulRevision(s *unstructured.Unstructured, history []*unstructured.Unstructured) (string, bool) {
	template := mapAt(s.Object, "spec", "template")
	for _, o := range history {
		if reflect.DeepEqual(mapAt(o.Object, "data", "spec", "template"), withReplace(template)) {
			return o.GetName(), true
		}
	}
	w.createRevision(s, s.GetName()+"-"+revision(Template(template)), template, len(history)+1, map[string]any{})
	return "", false
}

func ownerRefs(owner *unstructured.Unstructured) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes}}
}

func ownerRefsJSON(owner *unstructured.Unstructured) []any {
	return []any{map[string]any{
		"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()), "controller": true,
	}}
}
