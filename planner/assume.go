package planner

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// MaxAssumed is how many pods Assume is good for.
const MaxAssumed = 50_000

// TooMany names the first workload whose pods, with those of the ones before it,
// are more than Assume is good for.
func TooMany(from []Manifest) (m Manifest, replicas int, found bool) {
	total := 0
	for _, m := range from {
		if !IsWorkload(m.Ref) {
			continue
		}
		n := numberAt(m.Object, 1, "spec", "replicas")
		if total += min(n, MaxAssumed+1); total > MaxAssumed {
			return m, n, true
		}
	}
	return Manifest{}, 0, false
}

// Assume is a snapshot without a cluster: everything in from exists, all its
// pods run, are ready and were made from it, and the server would store to as it
// is. So two revisions of a repository can be compared before anything is merged.
func Assume(from, to []Manifest) Snapshot {
	snap := Snapshot{
		Served: Served{Resize: true},
		Live:   map[Ref]Live{}, Proofs: map[Ref]Proof{},
		Owned: map[types.UID][]*unstructured.Unstructured{}, Pods: map[types.UID][]*corev1.Pod{},
	}
	for _, m := range from {
		snap.assumeLive(m)
	}
	onNode := map[string]bool{}
	snap.Images = map[string]map[string]bool{"": onNode} // pods without a node, where no image is missing
	for _, m := range to {
		wanted := templateOf(m.Object)
		if m.Hosting != nil && m.Hosting.Sidecars != nil {
			wanted = m.Hosting.Sidecars.Template
		}
		for _, c := range containersOf(wanted) {
			onNode[canonical(textAt(c.spec, "image"))] = true
		}
		snap.Proofs[m.Ref] = snap.assumeProof(m)
	}
	snap.assumeSidecars(from, to)
	return snap
}

// assumeProof: no server takes other claim templates than a set has.
func (s *Snapshot) assumeProof(m Manifest) Proof {
	live := s.Live[m.Ref].Object
	if live == nil || len(claimChanges(live.Object, m.Object)) == 0 {
		return Proof{Object: &unstructured.Unstructured{Object: defaulted(m)}}
	}
	kept, changed := WithClaimTemplates(m, live.Object)
	return Proof{Object: &unstructured.Unstructured{Object: defaulted(kept)}, Claims: changed}
}

func defaulted(m Manifest) map[string]any {
	if IsWorkload(m.Ref) {
		return Defaults(m)
	}
	object := clone(m.Object).(map[string]any)
	object["apiVersion"], object["kind"] = m.APIVersion, m.Kind
	return object
}

func (s *Snapshot) assumeLive(m Manifest) {
	object := &unstructured.Unstructured{Object: defaulted(m)}
	uid := types.UID(m.Ref.String())
	object.SetUID(uid)
	s.Live[m.Ref] = Live{Object: object, Health: Health{Status: "Current"}}
	if !IsWorkload(m.Ref) {
		return
	}
	count := numberAt(object.Object, 1, "spec", "replicas")
	template := templateOf(object.Object)
	label, hash := "", revision(template)
	owner := uid
	switch m.Kind {
	case "Deployment":
		owner = s.assumeOwned(object, "ReplicaSet", m.Name+"-"+hash, template, nil)
	case "StatefulSet":
		label = m.Name + "-" + hash
		s.assumeOwned(object, "ControllerRevision", label, template, nil)
	case "DaemonSet":
		label, count = hash, 1
		s.assumeOwned(object, "ControllerRevision", m.Name+"-"+hash, template, map[string]any{appsv1.ControllerRevisionHashLabelKey: hash})
	case "Pod":
		template = plain(barePod(object.Object))
		s.Pods[uid] = []*corev1.Pod{assumedPod(template, m, m.Name, uid, "")}
		return
	}
	object.Object["status"] = map[string]any{"desiredNumberScheduled": int64(count)}
	first := numberAt(object.Object, 0, "spec", "ordinals", "start")
	for i := range count {
		name := fmt.Sprintf("%s-%d", m.Name, first+i)
		s.Pods[owner] = append(s.Pods[owner], assumedPod(template, m, name, owner, label))
	}
}

func (s *Snapshot) assumeOwned(owner *unstructured.Unstructured, kind, name string, template Template, labels map[string]any) types.UID {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": owner.GetNamespace(), "labels": labels},
	}}
	if kind == "ReplicaSet" {
		object.Object["spec"] = map[string]any{"replicas": int64(numberAt(owner.Object, 1, "spec", "replicas")), "template": map[string]any(template)}
	} else {
		object.Object["data"] = revisionData(template)
	}
	uid := types.UID(kind + "/" + string(owner.GetUID()))
	object.SetUID(uid)
	s.Owned[owner.GetUID()] = append(s.Owned[owner.GetUID()], object)
	return uid
}

func assumedPod(t Template, m Manifest, name string, owner types.UID, revision string) *corev1.Pod {
	pod := &corev1.Pod{}
	content := clone(map[string]any(t)).(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, pod); err != nil {
		pod = &corev1.Pod{} // a template that is no pod is refused by its server, not here
	}
	controller := true
	pod.Name, pod.Namespace, pod.UID = name, m.Namespace, types.UID("pod/"+name)
	if owner != types.UID(m.Ref.String()) || m.Kind != "Pod" {
		pod.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: &controller}}
	} else {
		pod.UID = owner
	}
	if revision != "" {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.ControllerRevisionHashLabelKey, revision)
	}
	pod.Status = assumedStatus(pod)
	pod.Status.QOSClass = qosAfter(pod, nil)
	return pod
}

func assumedStatus(pod *corev1.Pod) corev1.PodStatus {
	status := corev1.PodStatus{Phase: corev1.PodRunning}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	status.InitContainerStatuses = assumedContainers(pod.Spec.InitContainers)
	status.ContainerStatuses = assumedContainers(pod.Spec.Containers)
	return status
}

// assumedContainers run, with some digest: which one says nothing about the plan.
func assumedContainers(containers []corev1.Container) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, c := range containers {
		statuses = append(statuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, ContainerID: "assumed://" + c.Name,
			ImageID: untagged(c.Image) + "@sha256:assumed",
			State:   corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Unix(0, 0))}},
		})
	}
	return statuses
}
