package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The kubelet stops the old container before it pulls the new image. So before
// the first container is stopped, its new image is brought to its node: by a pod
// pinned to the node whose command does not exist. The kubelet pulls, the start
// fails, and the image is there. A bad image reference then costs nothing.

// LabelPull is on the pods that bring images to nodes; its value is the workload's UID.
const LabelPull = Domain + "/pull"

// pullPrefix is what the names of these pods begin with.
const pullPrefix = "situ-pull-"

// PulledFor is the workload that a pod was made to bring an image for, "" for
// every other pod. Such pods are deleted once they have done so, and anybody may
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

// maxPulls bounds the pods that bring images to nodes at one time, per workload.
// One that has done so stays as a proof while pods there need the image. Ahead of
// their turn pods get no more than the bound, proofs included; those whose turn
// it is are never kept waiting by proofs.
const maxPulls = 10

// pullImages finds for each pod that is to restart whether its new images are on
// its node. Pods that lack one wait; the step brings it there, also for pods of
// later turns, and removes the pods that are not needed any more.
func (r *rollout) pullImages(snap Snapshot) Step {
	if r.commit.Policy.NoPull {
		return nil
	}
	running := map[string]*corev1.Pod{}
	for _, pod := range snap.Pulls {
		if PulledFor(pod) == r.uid() && pod.DeletionTimestamp == nil {
			running[pod.Name] = pod
		}
	}
	pulling := unfinished(running)
	needed := map[string]bool{}
	var step Step
	for _, c := range r.restartingByTurn() {
		node := c.pod.Spec.NodeName
		for _, image := range newImages(*c) {
			name := pullName(r.uid(), node, image)
			pod, asked := running[name]
			asked = asked || needed[name]
			needed[name] = true // also as a proof, until the pods there have it
			if snap.Images[node][canonical(image)] || r.runsOn(node, image) || pulled(pod) {
				continue
			}
			c.pulling = fmt.Sprintf("image %s is pulled to node %s", image, node)
			if text := pullFailure(pod); text != "" {
				c.pulling = clip(fmt.Sprintf("image %s cannot be pulled to node %s: %s", image, node, text))
				r.stopped = "pod " + c.pod.Name + ": " + c.pulling
			}
			if ahead := c.turn > 1 && len(running)+len(step) >= maxPulls; !asked && !ahead && pulling < maxPulls {
				step = append(step, r.pullPod(name, node, image))
				pulling++
			}
		}
	}
	for _, name := range union(running, nil) {
		r.cleanup = append(r.cleanup, removePull(running[name]))
		if !needed[name] {
			step = append(step, removePull(running[name]))
		}
	}
	return step
}

func unfinished(pulls map[string]*corev1.Pod) int {
	n := 0
	for _, pod := range pulls {
		if !pulled(pod) {
			n++
		}
	}
	return n
}

// restartingByTurn are the pods that are to restart, in the order of their turns.
func (r *rollout) restartingByTurn() []*podCase {
	var some []*podCase
	for i := range r.cases {
		if c := &r.cases[i]; c.turn > 0 && c.verdict == Restart {
			some = append(some, c)
		}
	}
	slices.SortStableFunc(some, func(a, b *podCase) int { return a.turn - b.turn })
	return some
}

// runsOn: one of the workload's own pods runs the image on that node.
func (r *rollout) runsOn(node, image string) bool {
	for i := range r.cases {
		pod := r.cases[i].pod
		if pod.Spec.NodeName != node {
			continue
		}
		for j := range pod.Status.ContainerStatuses {
			status := &pod.Status.ContainerStatuses[j]
			if status.State.Running != nil && sameName(status.Image, image) {
				return true
			}
		}
	}
	return false
}

// newImages are the images that a pod's patch brings. An alias of the image that
// runs already is none.
func newImages(c podCase) []string {
	var images []string
	for _, change := range c.changes {
		name, _ := change.Container()
		image, isText := change.New.(string)
		if isText && slices.Contains(c.patched, name) && change.path[len(change.path)-1].key == "image" && !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	return images
}

func pullName(workload any, node, image string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%v\n%s\n%s", workload, node, image))
	return pullPrefix + hex.EncodeToString(sum[:6])
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
// security standard. Its owner's end is its own.
func (r *rollout) pullPod(name, node, image string) Action {
	ref := Ref{APIVersion: "v1", Kind: "Pod", Namespace: r.manifest.Namespace, Name: name}
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
	return Action{Name: "pull", Mode: CreateOnly, Ref: ref, Body: body, Text: "pull " + image + " to node " + node}
}

func removePull(pod *corev1.Pod) Action {
	return Action{Name: "pulled", Mode: Delete, Ref: podRef(pod), UID: pod.UID, Text: "remove pod/" + pod.Name + ", which only pulled an image"}
}

// firstPull says what image the first pod waits for.
func (r *rollout) firstPull() string {
	for i := range r.cases {
		if r.cases[i].pulling != "" {
			return "pod " + r.cases[i].pod.Name + ": " + r.cases[i].pulling
		}
	}
	return ""
}

// begun: the host has the wanted template already.
func (r *rollout) begun() bool { return same(templateOf(r.live.Object.Object), r.want) }

// blocked: every pod whose turn is now waits for an image.
func (r *rollout) blocked() bool {
	waiting := false
	for i := range r.cases {
		c := &r.cases[i]
		if c.turn == 1 && c.pulling == "" {
			return false
		}
		waiting = waiting || c.turn == 1
	}
	return waiting
}
