package planner

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The controllers below are models of the stock ones (pkg/controller of
// Kubernetes 1.37). Each reads only its own cache, which may lag behind kind by
// kind; its updates are refused if they were decided on an old version of the
// object, its deletions of pods are not.

// replicaSets is the ReplicaSet controller. It waits for its own creations and
// deletions, so it counts pods as they are; its templates may be old.
func (w *world) replicaSets() {
	for _, rs := range w.cache("replicaset").of("ReplicaSet") {
		if now := w.objects[refOf(rs)]; now == nil || now.GetUID() != rs.GetUID() {
			continue
		}
		w.adoptOrphans(rs)
		pods := active(w.podsOf(rs.GetUID()))
		want := numberAt(rs.Object, 1, "spec", "replicas")
		for len(pods) < want {
			w.serial++
			pod := podOf(rs, mapAt(rs.Object, "spec", "template"), fmt.Sprintf("%s-%04d", rs.GetName(), w.serial))
			w.createPod(pod)
			pods = append(pods, pod)
		}
		beside := map[string]int{}
		for _, pod := range pods {
			beside[pod.Spec.NodeName]++
		}
		slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
			return cmp.Or(boolInt(isReady(a))-boolInt(isReady(b)), deletionCost(a)-deletionCost(b), beside[b.Spec.NodeName]-beside[a.Spec.NodeName], w.octave(a)-w.octave(b), strings.Compare(string(a.UID), string(b.UID)))
		})
		for _, pod := range pods[:max(0, len(pods)-want)] {
			w.allow[pod.UID] = true // the count of a set is not situ's business
			w.deletePod(pod.Name, "replicaset/"+rs.GetName())
		}
		pods = active(w.podsOf(rs.GetUID()))
		ready := len(slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !isReady(p) }))
		w.update(rs, func(o map[string]any) {
			o["status"] = map[string]any{"replicas": int64(len(pods)), "availableReplicas": int64(ready), "observedGeneration": rs.GetGeneration()}
		})
	}
}

// octave: pods that are ready for about as long are alike to the controller.
func (w *world) octave(pod *corev1.Pod) int {
	since, ready := readySince(pod)
	if !ready {
		since = pod.CreationTimestamp.Time
	}
	if w.now.After(since) {
		return int(math.Log2(float64(w.now.Sub(since))))
	}
	return -1
}

func podOf(owner *unstructured.Unstructured, template map[string]any, name string) *corev1.Pod {
	pod := podFrom(clone(template).(map[string]any))
	pod.Name, pod.Namespace = name, owner.GetNamespace()
	pod.OwnerReferences = ownerRefs(owner)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	return pod
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func isReady(pod *corev1.Pod) bool {
	_, ready := readySince(pod)
	return ready
}

// deployments is the Deployment controller: scale while paused, roll else.
func (w *world) deployments() {
	v := w.cache("deployment")
	for _, d := range v.of("Deployment") {
		sets := append(v.ownedBy(d.GetUID(), "ReplicaSet"), w.adoptSets(d)...)
		newest := newReplicaSetOf(d, sets)
		paused := at(d.Object, "spec", "paused") == true
		if newest == nil && !paused {
			w.newReplicaSet(d, sets)
			continue
		}
		if paused {
			w.scalePaused(d, sets)
		} else {
			w.roll(d, newest, sets)
		}
		w.deploymentStatus(d, newest, sets)
	}
}

// newReplicaSetOf is the oldest set whose template equals the Deployment's, but for the hash.
func newReplicaSetOf(d *unstructured.Unstructured, sets []*unstructured.Unstructured) *unstructured.Unstructured {
	for _, rs := range sets {
		a, b := clone(at(d.Object, "spec", "template")).(map[string]any), clone(at(rs.Object, "spec", "template")).(map[string]any)
		delete(mapAt(a, "metadata", "labels"), "pod-template-hash")
		delete(mapAt(b, "metadata", "labels"), "pod-template-hash")
		if reflect.DeepEqual(a, b) {
			return rs
		}
	}
	return nil
}

func (w *world) newReplicaSet(d *unstructured.Unstructured, sets []*unstructured.Unstructured) {
	hash := revision(Template(mapAt(d.Object, "spec", "template")))
	name := d.GetName() + "-" + hash
	if w.objects[Ref{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: d.GetNamespace(), Name: name}] != nil {
		name += "-" + strconv.Itoa(w.serial) // a collision: another name
	}
	latest := 0
	for _, rs := range sets {
		latest = max(latest, generationOf(rs))
	}
	replicas := 0
	if len(sets) == 0 {
		replicas = numberAt(d.Object, 1, "spec", "replicas")
	}
	template := with(mapAt(d.Object, "spec", "template"), hash, "metadata", "labels", "pod-template-hash")
	w.create(map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": map[string]any{
			"name": name, "namespace": d.GetNamespace(), "ownerReferences": ownerRefsJSON(d),
			"annotations": map[string]any{"deployment.kubernetes.io/revision": strconv.Itoa(latest + 1)},
		},
		"spec": map[string]any{
			"replicas": int64(replicas), "template": template,
			"selector": with(mapAt(d.Object, "spec", "selector"), hash, "matchLabels", "pod-template-hash"),
		},
	})
}

// scalePaused gives the whole count to the only set with pods; several keep theirs.
func (w *world) scalePaused(d *unstructured.Unstructured, sets []*unstructured.Unstructured) {
	var some []*unstructured.Unstructured
	for _, rs := range sets {
		if numberAt(rs.Object, 0, "spec", "replicas") > 0 {
			some = append(some, rs)
		}
	}
	if len(some) == 1 {
		w.scaleSet(some[0], numberAt(d.Object, 1, "spec", "replicas"))
	}
}

func (w *world) scaleSet(rs *unstructured.Unstructured, n int) {
	w.update(rs, func(o map[string]any) { mapAt(o, "spec")["replicas"] = int64(max(0, n)) })
}

// roll is rolloutRolling: the new set grows within maxSurge, old ones shrink
// within maxUnavailable, not ready pods first.
func (w *world) roll(d, newest *unstructured.Unstructured, sets []*unstructured.Unstructured) {
	want := numberAt(d.Object, 1, "spec", "replicas")
	surge, unavailable := resolveFence(d, want)
	total, available := 0, 0
	for _, rs := range sets {
		total += numberAt(rs.Object, 0, "spec", "replicas")
		available += numberAt(rs.Object, 0, "status", "availableReplicas")
	}
	mine := numberAt(newest.Object, 0, "spec", "replicas")
	if mine != want {
		if grow := min(want-mine, want+surge-total); mine > want || grow > 0 {
			w.scaleSet(newest, mine+min(grow, want-mine))
			return
		}
	}
	unready := mine - numberAt(newest.Object, 0, "status", "availableReplicas")
	spare := min(total-(want-unavailable)-unready, total-mine)
	for _, rs := range sets {
		have := numberAt(rs.Object, 0, "spec", "replicas")
		broken := have - numberAt(rs.Object, 0, "status", "availableReplicas")
		free := max(0, available-(want-unavailable))
		if less := min(spare, have, broken+free); rs != newest && less > 0 {
			w.scaleSet(rs, have-less)
			spare -= less
			available -= max(0, less-broken)
		}
	}
}

func resolveFence(d *unstructured.Unstructured, want int) (surge, unavailable int) {
	if textAt(d.Object, "spec", "strategy", "type") == "Recreate" {
		return 0, want
	}
	unavailable = resolveMaxUnavailable(amountAt(d.Object, "spec", "strategy", "rollingUpdate", "maxUnavailable"), want, 0)
	written := amountAt(d.Object, "spec", "strategy", "rollingUpdate", "maxSurge")
	surge = written.Value
	if written.Percent {
		surge = (want*written.Value + 99) / 100
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}

func (w *world) deploymentStatus(d, newest *unstructured.Unstructured, sets []*unstructured.Unstructured) {
	replicas, available, updated := 0, 0, 0
	for _, rs := range sets {
		replicas += numberAt(rs.Object, 0, "status", "replicas")
		available += numberAt(rs.Object, 0, "status", "availableReplicas")
	}
	if newest != nil {
		updated = numberAt(newest.Object, 0, "status", "replicas")
	}
	w.update(d, func(o map[string]any) {
		o["status"] = map[string]any{
			"observedGeneration": d.GetGeneration(), "replicas": int64(replicas),
			"availableReplicas": int64(available), "updatedReplicas": int64(updated),
		}
	})
}

// daemonSets is the DaemonSet controller: one pod on each node; old ones are
// deleted within maxUnavailable unless the strategy is OnDelete.
func (w *world) daemonSets() {
	v := w.cache("daemonset")
	for _, ds := range v.of("DaemonSet") {
		hash, ok := w.daemonRevision(ds, v.ownedBy(ds.GetUID(), "ControllerRevision"))
		if !ok {
			continue
		}
		generation := ds.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]
		byNode := map[string]*corev1.Pod{}
		for _, pod := range active(w.podsOf(ds.GetUID())) {
			byNode[pod.Spec.NodeName] = pod
		}
		for _, node := range w.nodes {
			if byNode[node] == nil {
				w.serial++
				pod := podOf(ds, mapAt(ds.Object, "spec", "template"), fmt.Sprintf("%s-%04d", ds.GetName(), w.serial))
				pod.Labels[appsv1.ControllerRevisionHashLabelKey], pod.Labels[appsv1.DeprecatedTemplateGeneration] = hash, generation
				pod.Spec.NodeName = node
				w.createPod(pod)
			}
		}
		w.daemonUpdate(ds, v, hash, generation)
	}
}

func (w *world) daemonUpdate(ds *unstructured.Unstructured, v *view, hash, generation string) {
	isNew := func(pod *corev1.Pod) bool {
		return pod.Labels[appsv1.ControllerRevisionHashLabelKey] == hash || pod.Labels[appsv1.DeprecatedTemplateGeneration] == generation
	}
	budget := resolveMaxUnavailable(amountAt(ds.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), len(w.nodes), 1)
	pods := v.podsOf(ds.GetUID())
	budget -= len(w.nodes) - len(pods)
	updated := 0
	for _, pod := range pods {
		updated += boolInt(isNew(pod))
		budget -= boolInt(!isReady(pod))
	}
	rolling := textAt(ds.Object, "spec", "updateStrategy", "type") == "RollingUpdate"
	for _, pod := range pods {
		if !rolling || isNew(pod) || w.pods[pod.Name] == nil || w.pods[pod.Name].UID != pod.UID {
			continue
		}
		if !isReady(pod) || budget > 0 {
			budget -= boolInt(isReady(pod))
			w.deletePod(pod.Name, "daemonset/"+ds.GetName())
		}
	}
	// The status is written onto the object as it is now, whatever was seen.
	if now := w.objects[refOf(ds)]; now != nil && now.GetUID() == ds.GetUID() {
		w.update(now, func(o map[string]any) {
			o["status"] = map[string]any{
				"observedGeneration": ds.GetGeneration(), "desiredNumberScheduled": int64(len(w.nodes)), "updatedNumberScheduled": int64(updated),
			}
		})
	}
}

// daemonRevision is the hash label of the template's ControllerRevision.
func (w *world) daemonRevision(ds *unstructured.Unstructured, history []*unstructured.Unstructured) (string, bool) {
	template := mapAt(ds.Object, "spec", "template")
	for _, o := range history {
		if reflect.DeepEqual(mapAt(o.Object, "data", "spec", "template"), withReplace(template)) {
			return o.GetLabels()[appsv1.ControllerRevisionHashLabelKey], true
		}
	}
	hash := revision(Template(template))
	w.createRevision(ds, ds.GetName()+"-"+hash, template, len(history)+1, map[string]any{appsv1.ControllerRevisionHashLabelKey: hash})
	return "", false
}

func withReplace(template map[string]any) map[string]any {
	return with(template, "replace", "$patch")
}

func (w *world) createRevision(owner *unstructured.Unstructured, name string, template map[string]any, number int, labels map[string]any) {
	ref := Ref{APIVersion: "apps/v1", Kind: "ControllerRevision", Namespace: owner.GetNamespace(), Name: name}
	if w.objects[ref] != nil {
		return
	}
	w.create(map[string]any{
		"apiVersion": "apps/v1", "kind": "ControllerRevision",
		"metadata": map[string]any{"name": name, "namespace": owner.GetNamespace(), "labels": labels, "ownerReferences": ownerRefsJSON(owner)},
		"data":     map[string]any{"spec": map[string]any{"template": withReplace(template)}},
		"revision": int64(number),
	})
}
