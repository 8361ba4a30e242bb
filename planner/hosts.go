package planner

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1 "k8s.io/api/core/v1"
)

// steps leaves out those with nothing to do.
func steps(all ...Step) []Step {
	var some []Step
	for _, step := range all {
		if len(step) > 0 {
			some = append(some, step)
		}
	}
	return some
}

// observed: the object's controller has seen its latest spec.
func observed(o *unstructured.Unstructured) bool {
	return numberAt(o.Object, 0, "status", "observedGeneration") >= int(o.GetGeneration())
}

// applyOnDelete applies Git's text if the live object differs; with the hold, its
// controller leaves the pods that it has to situ.
func (r *rollout) applyOnDelete(hold bool) Step {
	live := r.live.Object
	except := [][]string{holdPath}
	if hold {
		except = append(except, []string{"spec", "updateStrategy"})
	}
	held := live.GetAnnotations()[AnnotationRollout] != ""
	stands := !hold || textAt(live.Object, "spec", "updateStrategy", "type") == "OnDelete"
	if held == hold && stands && !r.differs(except...) {
		return nil
	}
	body := r.applyBody()
	text := "apply " + r.manifest.Ref.String()
	if hold {
		body = with(body, map[string]any{"type": "OnDelete"}, "spec", "updateStrategy")
		body = with(body, "in-place", holdPath...)
		text += ", with updateStrategy OnDelete while pods are patched"
	}
	return Step{r.apply("apply", body, text)}
}

func ownedBy(pod *corev1.Pod, owner *unstructured.Unstructured) bool {
	for i := range pod.OwnerReferences {
		ref := &pod.OwnerReferences[i]
		if ref.Controller != nil && *ref.Controller && ref.UID == owner.GetUID() {
			return true
		}
	}
	return false
}

// keepAll takes every outdated pod off the schedule.
func keepAll(r *rollout, why string) {
	for i := range r.cases {
		if c := &r.cases[i]; !c.current {
			c.kept, c.turn = why, 0
		}
	}
}

// youngestFirst: unavailable pods first, then those that are ready for the
// shortest time, then by name.
func youngestFirst(a, b *podCase) bool {
	if a.progress.available != b.progress.available {
		return !a.progress.available
	}
	readyA, _ := readySince(a.pod)
	readyB, _ := readySince(b.pod)
	if !readyA.Equal(readyB) {
		return readyA.After(readyB)
	}
	return a.pod.Name < b.pod.Name
}
