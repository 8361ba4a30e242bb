package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LabelPull is on the pods that bring images to nodes; its value is the UID of
// the workload that made the pod. Others may wait for it, too.
const LabelPull = Domain + "/pull"

// pullPrefix is what the names of these pods begin with.
const pullPrefix = "situ-pull-"

// PulledFor is the workload that made a pod to bring an image, "" for every
// other pod. Such pods are deleted once they have done so, and anybody may
// write a label: the name and the owner must agree with it.
func PulledFor(pod *corev1.Pod) types.UID {
	workload := types.UID(pod.Labels[LabelPull])
	owned := slices.ContainsFunc(pod.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.UID == workload && (owner.Controller == nil || !*owner.Controller)
	})
	if !owned || !strings.HasPrefix(pod.Name, pullPrefix) {
		return ""
	}
	return workload
}

// pullRef names the pod that brings an image to a pod's node. All workloads of a
// namespace that use the same credentials call it the same, so they share it.
func (r *rollout) pullRef(pod *corev1.Pod, image string) Ref {
	credentials := jsonText([]any{at(r.want, "spec", "imagePullSecrets"), at(r.want, "spec", "serviceAccountName")})
	return Ref{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pullPrefix + pullSum(image+"\n"+credentials) + "-" + pullSum(pod.Spec.NodeName)}
}

// onAnyNode is what the pods that bring one image to several nodes have in common.
func onAnyNode(pull Ref) Ref {
	pull.Name = pull.Name[:strings.LastIndex(pull.Name, "-")]
	return pull
}

func pullSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// pulled: the kubelet knows the image's id, or got as far as needing it.
func pulled(pod *corev1.Pod) bool {
	if pod == nil || len(pod.Status.ContainerStatuses) == 0 {
		return false
	}
	status := &pod.Status.ContainerStatuses[0]
	created := status.State.Terminated != nil || status.State.Running != nil
	return created || status.ImageID != ""
}

func pullFailure(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	for i := range pod.Status.ContainerStatuses {
		waiting := pod.Status.ContainerStatuses[i].State.Waiting
		if waiting != nil && slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName"}, waiting.Reason) {
			return waiting.Reason + ": " + waiting.Message
		}
	}
	if pod.Status.Phase == corev1.PodFailed && !pulled(pod) {
		return pod.Status.Reason + ": " + pod.Status.Message
	}
	return ""
}

// pullPod asks for as little as a pod can, and passes the restricted pod
// security standard. The end of the workload that makes it is its own.
func (r *rollout) pullPod(ref Ref, node, image string) Action {
	container := map[string]any{
		"name": "pull", "image": image, "imagePullPolicy": "IfNotPresent",
		"command":   []any{"/situ.gitops/none"},
		"resources": map[string]any{"requests": map[string]any{"cpu": "1m", "memory": "1Mi"}, "limits": map[string]any{"cpu": "10m", "memory": "16Mi"}},
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false, "runAsNonRoot": true, "runAsUser": int64(65534),
			"capabilities": map[string]any{"drop": []any{"ALL"}}, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
		},
	}
	spec := map[string]any{
		"nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": int64(0),
		"automountServiceAccountToken": false, "enableServiceLinks": false,
		"tolerations": []any{map[string]any{"operator": "Exists"}},
		"containers":  []any{container},
	}
	for _, field := range []string{"imagePullSecrets", "serviceAccountName"} {
		if value := at(r.want, "spec", field); value != nil {
			spec[field] = clone(value)
		}
	}
	body := map[string]any{
		"apiVersion": ref.APIVersion, "kind": ref.Kind, "spec": spec,
		"metadata": map[string]any{
			"name": ref.Name, "namespace": ref.Namespace, "labels": map[string]any{LabelPull: string(r.uid())},
			"ownerReferences": []any{map[string]any{
				"apiVersion": r.manifest.APIVersion, "kind": r.manifest.Kind, "name": r.manifest.Name, "uid": string(r.uid()),
			}},
		},
	}
	if r.commit.Source != "" {
		body = with(body, r.commit.Source, sourcePath...)
	}
	return Action{Name: "pull", Mode: CreateOnly, Ref: ref, Body: body, Text: "pull " + image + " to node " + node}
}

func removePull(pod *corev1.Pod) Action {
	return Action{Name: "pulled", Mode: Delete, Ref: podRef(pod), UID: pod.UID, Text: "remove pod/" + pod.Name + ", which only pulled an image"}
}
