package cluster

import (
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
	"situ.gitops/planner/kruise"
)

// sighting is one object as a cache keeps it. The embedded metadata lack what
// nobody reads; adopt, ours and digest were taken before it was cut.
type sighting struct {
	metav1.Object
	full   *unstructured.Unstructured // of workloads and what they own, else nil
	pod    *corev1.Pod                // of pods, else nil
	images map[string]bool            // of nodes: those that the node has, spelt in full
	room   corev1.ResourceList        // of nodes: cpu and memory for pods
	labels map[string]string          // of nodes
	digest uint64                     // over labels and annotations
	adopt  bool                       // kubectl owns fields, and situ never applied it
	ours   bool                       // situ has applied it
}

// newSighting is the transform of all caches. Caches may hand it what it made before.
func newSighting(manager string) func(any) (any, error) {
	adopt, related := adopter(manager), &siblings{}
	return func(given any) (any, error) {
		object, ok := given.(metav1.Object)
		if !ok {
			return given, nil // a cache's own notice of a deletion
		}
		if _, ok := given.(*sighting); ok {
			return given, nil
		}
		seen := &sighting{Object: object, adopt: adopt(object.GetManagedFields()), ours: applied(object.GetManagedFields(), manager)}
		cut(object)
		seen.digest = digestOf(object)
		switch whole := given.(type) {
		case *unstructured.Unstructured:
			seen.full = whole
		case *corev1.Pod:
			tight(whole)
			quietWords(whole)
			related.join(whole)
			seen.pod = whole
		case *corev1.Node:
			seen.images, seen.room, seen.labels, seen.Object = imagesOf(whole), roomOf(whole), whole.Labels, bare(whole)
		default:
			seen.Object = bare(object)
		}
		return seen, nil
	}
}

// cut takes away what is large and read by nobody.
func cut(object metav1.Object) {
	object.SetManagedFields(nil)
	annotations := object.GetAnnotations()
	if _, ok := annotations[corev1.LastAppliedConfigAnnotation]; ok {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		if len(annotations) == 0 {
			annotations = nil
		}
		object.SetAnnotations(annotations)
	}
}

// bare keeps the little that tells one state of an object from another.
func bare(object metav1.Object) metav1.Object {
	return &metav1.ObjectMeta{
		Name: object.GetName(), Namespace: object.GetNamespace(), UID: object.GetUID(),
		ResourceVersion: object.GetResourceVersion(), Generation: object.GetGeneration(),
		DeletionTimestamp: object.GetDeletionTimestamp(),
	}
}

func digestOf(object metav1.Object) uint64 {
	hash := fnv.New64a()
	for _, pairs := range []map[string]string{object.GetLabels(), object.GetAnnotations()} {
		for _, key := range slices.Sorted(maps.Keys(pairs)) {
			hash.Write([]byte(key + "\x00" + pairs[key] + "\x00"))
		}
		hash.Write([]byte{1})
	}
	return hash.Sum64()
}

func imagesOf(node *corev1.Node) map[string]bool {
	images := make(map[string]bool, 2*len(node.Status.Images))
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			images[planner.ImageName(name)] = true
		}
	}
	return images
}

func roomOf(node *corev1.Node) corev1.ResourceList {
	room := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if amount, ok := node.Status.Allocatable[name]; ok {
			room[name] = amount
		}
	}
	return room
}

// pullIndex finds the pods that only bring images to nodes.
const pullIndex = "pull"

func indexByPull(stored any) ([]string, error) {
	seen := stored.(*sighting)
	if seen.pod == nil || planner.PulledFor(seen.pod) == "" {
		return nil, nil
	}
	return []string{pullIndex}, nil
}

// ownerIndex finds objects by their controller, and a pod without one by itself.
const ownerIndex = "owner"

func ownerOf(object metav1.Object) types.UID {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller {
			return owner.UID
		}
	}
	return ""
}

// strayIndex finds what nobody looks after: objects without a controller, or whose
// controller is of OpenKruise, and ReplicaSets that are on their way to another one.
const strayIndex = "stray"

// strayKinds are looked for, beside pods.
var strayKinds = []string{"ReplicaSet", "ControllerRevision"}

func indexByStray(stored any) ([]string, error) {
	seen := stored.(*sighting)
	if seen.pod == nil && (seen.full == nil || !slices.Contains(strayKinds, seen.full.GetKind())) {
		return nil, nil
	}
	if seen.GetAnnotations()[planner.AnnotationHandedOver] != "" {
		return []string{""}, nil
	}
	for _, owner := range seen.GetOwnerReferences() {
		if owner.Controller == nil || !*owner.Controller {
			continue
		}
		if group, _, _ := strings.Cut(owner.APIVersion, "/"); group != kruise.Group {
			return nil, nil
		}
	}
	return []string{""}, nil
}

func indexByOwner(stored any) ([]string, error) {
	seen := stored.(*sighting)
	owner := ownerOf(seen)
	if owner == "" && seen.pod != nil {
		owner = seen.GetUID()
	}
	if owner == "" {
		return nil, nil
	}
	return []string{string(owner)}, nil
}
