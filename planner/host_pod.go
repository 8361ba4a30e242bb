package planner

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// barePodHost is a Pod that Git names itself. What it was made from is the live
// pod: the proof, a dry-run create, went through the same admission, so both have
// the same additions and the rest is the difference. Nobody makes it anew but
// situ: recreating is deleting it, and creating it once it is gone.
//
// Others write labels and annotations on a live pod too, so those that Git has
// set are remembered in the pod's mark: only they disappear with Git's.
type barePodHost struct {
	object *unstructured.Unstructured
	want   Template
	pod    []*corev1.Pod
	ended  bool
	going  bool
}

func newBarePod(r *rollout, snap Snapshot) *barePodHost {
	h := &barePodHost{object: r.live.Object, want: r.want, going: r.live.Object.GetDeletionTimestamp() != nil}
	for _, pod := range snap.Pods[h.object.GetUID()] {
		h.ended = pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	}
	h.pod = active(snap.Pods[h.object.GetUID()])
	return h
}

func (h *barePodHost) String() string { return "pod/" + h.object.GetName() }

func (h *barePodHost) replicas() int {
	if h.ended {
		return 0
	}
	return 1
}

func (h *barePodHost) pods() []*corev1.Pod { return h.pod }

func (h *barePodHost) leaving() int { return 0 }

func (h *barePodHost) made(*corev1.Pod) made {
	spec := map[string]any{"template": ownPart(h.object.Object, h.want)}
	return made{key: "live", from: map[string]any{"spec": spec}, known: true}
}

// recorded knows nothing: a bare pod has no history but itself.
func (h *barePodHost) recorded(string) made { return made{} }

func (h *barePodHost) before(a, b *podCase) bool { return false }

func (h *barePodHost) keeps(*corev1.Pod) string { return "" }

func (h *barePodHost) partition() *Amount { return nil }

func (h *barePodHost) byOrdinal() bool { return false }

func (h *barePodHost) maxUnavailable() *Amount { return &Amount{Value: 1} }

func (h *barePodHost) floor() int { return 1 }

func (h *barePodHost) surges() bool { return false }

func (h *barePodHost) steps(r *rollout) []Step {
	if h.going {
		r.waits = "for the old pod to go"
		return nil
	}
	if r.held != "" {
		return nil
	}
	return steps(r.podStep(func(c podCase) Action {
		mark := r.mark(c, revision(r.want))
		mark.Owns = owns(r.want)
		return patchPod(c, r.want, nil, mark)
	}))
}

// barePod takes a pod as a template: what Git, or admission for it, decided.
// Where it runs and which token volume it got is the cluster's business.
func barePod(object map[string]any) map[string]any {
	object = withoutSidecars(object)
	spec := without(mapAt(object, "spec"), "nodeName")
	if volumes, ok := spec["volumes"].([]any); ok {
		spec["volumes"] = slices.DeleteFunc(slices.Clone(volumes), isToken)
	}
	for _, list := range []string{"containers", "initContainers"} {
		if containers, ok := spec[list].([]any); ok {
			spec[list] = withoutTokens(containers)
		}
	}
	return map[string]any{"metadata": without(mapAt(object, "metadata"), podServerFields...), "spec": spec}
}

// podServerFields are what the server and situ write into a pod's metadata.
var podServerFields = append([]string{"name", "namespace", "ownerReferences"}, serverFields...)

// ownPart is a live pod as a template, without the labels and annotations that
// were never Git's, and with the images as Git names them.
func ownPart(object map[string]any, want Template) map[string]any {
	var mark Mark
	_ = json.Unmarshal([]byte(textAt(object, "metadata", "annotations", AnnotationState)), &mark) // none: Git set what it wants now
	known := append(owns(want), mark.Owns...)
	t := barePod(object)
	nameImages(mapAt(t, "spec"), mark)
	metadata := mapAt(t, "metadata")
	for _, kind := range []string{"labels", "annotations"} {
		rest := map[string]any{}
		for key, value := range mapAt(metadata, kind) {
			if slices.Contains(known, kind+"/"+key) {
				rest[key] = value
			}
		}
		delete(metadata, kind)
		if len(rest) > 0 {
			metadata[kind] = rest
		}
	}
	return t
}

// nameImages takes the names back that situ gave to images for a restart.
func nameImages(spec map[string]any, mark Mark) {
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		for i, item := range containers {
			container, _ := item.(map[string]any)
			image := textAt(container, "image")
			if name := namedImage(mark, image); name != image {
				named := without(container, "image")
				named["image"] = name
				containers[i] = named
			}
		}
	}
}

// owns lists the labels and annotations of a template: "labels/app".
func owns(t Template) []string {
	var keys []string
	for _, kind := range []string{"labels", "annotations"} {
		for _, key := range union(mapAt(t, "metadata", kind), nil) {
			keys = append(keys, kind+"/"+key)
		}
	}
	return keys
}

// markedPod is the body that creates a bare pod.
func markedPod(r *rollout) map[string]any {
	mark := Mark{Version: 1, Commit: r.commit.ID, Revision: revision(r.want), At: r.now.UTC().Truncate(time.Second), Owns: owns(r.want)}
	return with(r.applyBody(), jsonText(mark), "metadata", "annotations", AnnotationState)
}

const tokenVolume = "kube-api-access-"

func isToken(volume any) bool {
	v, _ := volume.(map[string]any)
	return strings.HasPrefix(textAt(v, "name"), tokenVolume)
}

func withoutTokens(containers []any) []any {
	clean := make([]any, len(containers))
	for i, item := range containers {
		container, _ := item.(map[string]any)
		clean[i] = container
		mounts, ok := container["volumeMounts"].([]any)
		if !ok {
			continue
		}
		own := without(container, "volumeMounts")
		if rest := slices.DeleteFunc(slices.Clone(mounts), isToken); len(rest) > 0 {
			own["volumeMounts"] = rest
		}
		clean[i] = own
	}
	return clean
}
