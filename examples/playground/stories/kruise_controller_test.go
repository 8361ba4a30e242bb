package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// reconcile brings one set one step further: a missing pod, or one pod to update.
func (k *standIn) reconcile(ctx context.Context, set *unstructured.Unstructured) error {
	template, _, _ := unstructured.NestedMap(set.Object, "spec", "template")
	revision := set.GetName() + "-" + hashOf(template)
	if err := k.record(ctx, set, revision, template); err != nil {
		return err
	}
	pods, err := k.podsOf(ctx, set)
	if err != nil {
		return err
	}
	updated, ready, wanted := 0, 0, k.names(set)
	var outdated *corev1.Pod
	for _, pod := range pods {
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] != revision {
			outdated = pod
			continue
		}
		updated++
		if serves(pod) {
			ready++
		}
	}
	switch {
	case len(pods) < len(wanted):
		err = k.makePod(ctx, set, template, revision, pods, wanted)
	case outdated != nil && ready == updated:
		err = k.update(ctx, set, outdated, template, revision)
	}
	if err != nil {
		return err
	}
	return k.tell(ctx, set, map[string]any{
		"observedGeneration": set.GetGeneration(), "replicas": int64(len(pods)), "updatedReplicas": int64(updated), "updatedReadyReplicas": int64(ready),
		"updateRevision": revision, "daemonSetHash": revision, "updatedNumberScheduled": int64(updated), "desiredNumberScheduled": int64(len(wanted)),
	})
}

func (k *standIn) tell(ctx context.Context, set *unstructured.Unstructured, status map[string]any) error {
	before, _, _ := unstructured.NestedMap(set.Object, "status")
	if reflect.DeepEqual(before, status) {
		return nil
	}
	set.Object["status"] = status
	_, err := k.client.Resource(kruiseKinds[set.GetKind()]).Namespace(k.namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{FieldManager: "kruise-manager"})
	return err
}

func ownerOf(set *unstructured.Unstructured) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: set.GetAPIVersion(), Kind: set.GetKind(), Name: set.GetName(), UID: set.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}}
}

// record keeps a template as its kinds do.
func (k *standIn) record(ctx context.Context, set *unstructured.Unstructured, name string, template map[string]any) error {
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		return err
	}
	selector, _, _ := unstructured.NestedStringMap(set.Object, "spec", "selector", "matchLabels")
	_, err = k.ground.client().AppsV1().ControllerRevisions(k.namespace).Create(ctx, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: selector, OwnerReferences: ownerOf(set)},
		Data:       runtime.RawExtension{Raw: data}, Revision: 1,
	}, metav1.CreateOptions{FieldManager: "kruise-manager"})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (k *standIn) podsOf(ctx context.Context, set *unstructured.Unstructured) ([]*corev1.Pod, error) {
	list, err := k.ground.client().CoreV1().Pods(k.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.UID == set.GetUID() {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods, nil
}

// names are those of the pods that a set wants; a CloneSet's are made up.
func (k *standIn) names(set *unstructured.Unstructured) []string {
	count, found, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
	if !found {
		count = 1
	}
	if set.GetKind() == "DaemonSet" {
		count = int64(k.nodes)
	}
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%d", set.GetName(), i))
	}
	return names
}

func (k *standIn) makePod(ctx context.Context, set *unstructured.Unstructured, template map[string]any, revision string, pods []*corev1.Pod, wanted []string) error {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, pod); err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, other := range pods {
		taken[other.Name] = true
	}
	switch set.GetKind() {
	case "CloneSet":
		k.serial++
		pod.Name = fmt.Sprintf("%s-%05d", set.GetName(), k.serial)
	default:
		for i, name := range wanted {
			if pod.Name == "" && !taken[name] {
				pod.Name = name
				if set.GetKind() == "DaemonSet" {
					pod.Spec.Affinity = onlyOn(k.nodeNames(ctx)[i])
				}
			}
		}
	}
	pod.OwnerReferences = ownerOf(set)
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = revision
	_, err := k.ground.client().CoreV1().Pods(k.namespace).Create(ctx, pod, metav1.CreateOptions{FieldManager: "kruise-manager"})
	return err
}

func (k *standIn) nodeNames(ctx context.Context) []string {
	list, err := k.ground.client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	names := make([]string, k.nodes)
	for i := range names {
		if err == nil && i < len(list.Items) {
			names[i] = list.Items[i].Name
		}
	}
	return names
}

// onlyOn is how pods of a DaemonSet are bound to their nodes.
func onlyOn(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}}}
}

// update patches a pod where only images and metadata differ, and replaces it else.
func (k *standIn) update(ctx context.Context, set *unstructured.Unstructured, pod *corev1.Pod, template map[string]any, revision string) error {
	pods := k.ground.client().CoreV1().Pods(k.namespace)
	record, err := k.ground.client().AppsV1().ControllerRevisions(k.namespace).Get(ctx, pod.Labels[appsv1.ControllerRevisionHashLabelKey], metav1.GetOptions{})
	if err != nil {
		return err
	}
	var before struct {
		Spec struct{ Template map[string]any }
	}
	if err := json.Unmarshal(record.Data.Raw, &before); err != nil {
		return err
	}
	policy := fmt.Sprint(set.Object["spec"].(map[string]any)["updateStrategy"])
	if !strings.Contains(policy, "InPlace") || !reflect.DeepEqual(withoutImages(before.Spec.Template), withoutImages(template)) {
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{})
	}
	images := []any{}
	containers, _, _ := unstructured.NestedSlice(template, "spec", "containers")
	for _, item := range containers {
		container := item.(map[string]any)
		images = append(images, map[string]any{"name": container["name"], "image": container["image"]})
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": map[string]any{appsv1.ControllerRevisionHashLabelKey: revision}},
		"spec":     map[string]any{"containers": images},
	})
	if err != nil {
		return err
	}
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "kruise-manager"})
	return err
}

// withoutImages is the text of a template's spec but for the images.
func withoutImages(template map[string]any) string {
	text, err := json.Marshal(template["spec"])
	if err != nil {
		panic("a template that came from JSON is JSON: " + err.Error())
	}
	spec := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &spec.Object); err != nil {
		panic(err)
	}
	containers, _, _ := unstructured.NestedSlice(spec.Object, "containers")
	for _, item := range containers {
		delete(item.(map[string]any), "image")
	}
	spec.Object["containers"] = containers
	text, err = json.Marshal(spec.Object)
	if err != nil {
		panic(err)
	}
	return string(text)
}
