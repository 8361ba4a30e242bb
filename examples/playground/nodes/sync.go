package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func (s *Simulator) enqueue(object any) {
	if pod := object.(*corev1.Pod); s.plays(pod.Spec.NodeName) {
		s.queue.Add(cache.MetaObjectToName(pod))
	}
}

func (s *Simulator) enqueueAll() {
	for _, pod := range s.informer.GetStore().List() {
		s.enqueue(pod)
	}
}

// forget drops what is remembered of a pod that is gone.
func (s *Simulator) forget(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	s.address.release(pod.UID)
	s.kubelet.forget(pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, pod.UID)
}

// work does one pod; false when the simulator stops. A pod whose report is
// refused comes again, later each time.
func (s *Simulator) work(ctx context.Context) bool {
	name, shutdown := s.queue.Get()
	if shutdown {
		return false
	}
	defer s.queue.Done(name)
	again, err := s.sync(ctx, name)
	if err != nil && ctx.Err() == nil {
		s.log.Print(err)
		s.queue.AddRateLimited(name)
		return true
	}
	s.queue.Forget(name)
	if again > 0 {
		s.queue.AddAfter(name, again)
	}
	return true
}

// sync reports one pod as its kubelet would, and tells when to look again if
// nothing happens to it.
func (s *Simulator) sync(ctx context.Context, name cache.ObjectName) (again time.Duration, err error) {
	object, exists, err := s.informer.GetStore().GetByKey(name.String())
	if err != nil || !exists {
		return 0, err
	}
	pod := s.latest(object.(*corev1.Pod))
	if !s.plays(pod.Spec.NodeName) {
		return 0, nil
	}
	if pod.DeletionTimestamp != nil {
		if left := s.kubelet.ending(pod, time.Now()); left > 0 {
			return left, nil
		}
		return 0, s.remove(ctx, pod)
	}
	status, again := s.kubelet.next(pod, s.address.of(pod.UID, pod.Status.PodIP), time.Now())
	if equality.Semantic.DeepEqual(pod.Status, status) {
		return again, nil
	}
	return again, s.report(ctx, pod, status)
}

// latest is the newer of the watched pod and the one the last patch returned.
// Without it a pod whose own patch has not come back through the watch yet
// would be taken for unpatched, and its container be restarted once more.
func (s *Simulator) latest(watched *corev1.Pod) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	written, ok := s.written[watched.UID]
	if !ok {
		return watched
	}
	if version(written) > version(watched) {
		return written
	}
	delete(s.written, watched.UID)
	return watched
}

// version orders the states of one object, which resource versions do.
func version(pod *corev1.Pod) uint64 {
	n, err := strconv.ParseUint(pod.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// remove ends a pod that is being deleted.
func (s *Simulator) remove(ctx context.Context, pod *corev1.Pod) error {
	now := int64(0)
	err := s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now,
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("remove pod %s/%s: %w", pod.Namespace, pod.Name, err)
}

// report patches a pod's status. Conditions are merged by their type, so that
// those of others stay as they are.
func (s *Simulator) report(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   statusPatch(pod.Status, status),
	})
	if err != nil {
		return fmt.Errorf("report pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	written, err := s.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // gone, or replaced by another of its name: an event follows
	case err != nil:
		return fmt.Errorf("report pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[pod.UID] = written
	return nil
}

// statusPatch holds what a kubelet owns of a status and what has changed of it.
func statusPatch(old, status corev1.PodStatus) map[string]any {
	patch := map[string]any{}
	for _, field := range []struct {
		name     string
		old, now any
	}{
		{"observedGeneration", old.ObservedGeneration, status.ObservedGeneration},
		{"phase", old.Phase, status.Phase},
		{"reason", old.Reason, status.Reason},
		{"message", old.Message, status.Message},
		{"hostIP", old.HostIP, status.HostIP},
		{"hostIPs", old.HostIPs, status.HostIPs},
		{"podIP", old.PodIP, status.PodIP},
		{"podIPs", old.PodIPs, status.PodIPs},
		{"startTime", old.StartTime, status.StartTime},
		{"containerStatuses", old.ContainerStatuses, status.ContainerStatuses},
		{"initContainerStatuses", old.InitContainerStatuses, status.InitContainerStatuses},
	} {
		if !equality.Semantic.DeepEqual(field.old, field.now) {
			patch[field.name] = field.now
		}
	}
	if conditions := conditionsPatch(old.Conditions, status.Conditions); len(conditions) > 0 {
		patch["conditions"] = conditions
	}
	return patch
}

func conditionsPatch(old, now []corev1.PodCondition) []any {
	var patch []any
	for _, condition := range now {
		if was := conditionOf(old, condition.Type); was == nil || !equality.Semantic.DeepEqual(*was, condition) {
			patch = append(patch, condition)
		}
	}
	for _, was := range old {
		if conditionOf(now, was.Type) == nil {
			patch = append(patch, map[string]any{"type": was.Type, "$patch": "delete"})
		}
	}
	return patch
}

func conditionOf(conditions []corev1.PodCondition, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}
