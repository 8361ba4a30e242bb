package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
)

// A SidecarSet may match pods anywhere. Where they are is told by a watch on
// metadata that the server filters by the set's selector; only namespaces that
// hold such pods get a cache of whole pods.

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// selectedPods is the resource of a cache of pods that have some labels: as in a
// URL, the selector stands behind a question mark.
func selectedPods(selector string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods?" + selector}
}

// narrowed takes such a resource apart.
func narrowed(resource schema.GroupVersionResource) (all schema.GroupVersionResource, selector string) {
	resource.Resource, selector, _ = strings.Cut(resource.Resource, "?")
	return resource, selector
}

func (t target) sidecars() *planner.Sidecars {
	if !t.served || t.manifest.Hosting == nil {
		return nil
	}
	return t.manifest.Hosting.Sidecars
}

// lookouts are the places where a set's pods show up.
func lookouts(s *planner.Sidecars) []place {
	selector := selectedPods(metav1.FormatLabelSelector(s.Pods))
	if len(s.Named) == 0 {
		return []place{{resource: selector}}
	}
	var places []place
	for _, namespace := range s.Named {
		places = append(places, place{selector, namespace})
	}
	return places
}

// asksForLabels: the set selects namespaces by more than their names.
func asksForLabels(s *planner.Sidecars) bool {
	return len(s.Namespaces.MatchLabels) > 0 || slices.ContainsFunc(s.Namespaces.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key != corev1.LabelMetadataName
	})
}

// matched are the pods that a set matches, by namespace.
type matched map[string][]string

// ensureMatched has the caches that the sets of a commit need, and finds their pods.
func (c *Client) ensureMatched(ctx context.Context, targets []target) (map[planner.Ref]matched, error) {
	needed := map[place]bool{}
	for _, t := range targets {
		s := t.sidecars()
		if s == nil {
			continue
		}
		for _, at := range lookouts(s) {
			needed[at] = true
		}
		if asksForLabels(s) {
			needed[place{resource: namespaceResource}] = true
		}
	}
	if len(needed) == 0 {
		return nil, nil
	}
	if _, err := c.caches.ensure(ctx, sortedPlaces(maps.Keys(needed))); err != nil {
		return nil, err
	}
	found, whole := map[planner.Ref]matched{}, map[place]bool{}
	for _, t := range targets {
		s := t.sidecars()
		if s == nil {
			continue
		}
		found[t.manifest.Ref] = c.lookOut(s)
		for namespace := range found[t.manifest.Ref] {
			whole[place{podResource, namespace}], whole[place{budgets, namespace}] = true, true
		}
	}
	_, err := c.caches.ensure(ctx, sortedPlaces(maps.Keys(whole)))
	return found, err
}

// lookOut names the pods that a set matches in namespaces that it covers.
func (c *Client) lookOut(s *planner.Sidecars) matched {
	found, covers := matched{}, map[string]bool{}
	for _, at := range lookouts(s) {
		for _, seen := range c.caches.all(at) {
			namespace := seen.GetNamespace()
			covered, known := covers[namespace]
			if !known {
				covered = s.Covers(c.labelsOf(namespace))
				covers[namespace] = covered
			}
			if covered {
				found[namespace] = append(found[namespace], seen.GetName())
			}
		}
	}
	return found
}

// labelsOf are those of a namespace. Its name is one that every namespace has.
func (c *Client) labelsOf(namespace string) labels.Set {
	if seen := c.caches.find(place{resource: namespaceResource}, namespace); seen != nil && len(seen.GetLabels()) > 0 {
		return seen.GetLabels()
	}
	return labels.Set{corev1.LabelMetadataName: namespace}
}

// gatherMatched adds the pods of all sets to a snapshot that has those of the
// workloads. A pod of both is the one that the workload has: the caches move on
// meanwhile, and two states of one pod in one plan let its workload and its set
// each make a pod unavailable.
func (c *Client) gatherMatched(snapshot *planner.Snapshot, targets []target, matched map[planner.Ref]matched, names map[named]bool, places map[place]bool) {
	first := map[types.UID]*corev1.Pod{}
	for _, pods := range snapshot.Pods {
		for _, pod := range pods {
			first[pod.UID] = pod
		}
	}
	for _, t := range targets {
		if t.sidecars() != nil {
			c.addMatched(snapshot, t, matched[t.manifest.Ref], first, names, places)
		}
	}
}

// addMatched adds the pods of a set to a snapshot, and what makes it worth a new
// one: these pods, those that are yet to be seen, and namespaces.
func (c *Client) addMatched(snapshot *planner.Snapshot, t target, pods matched, first map[types.UID]*corev1.Pod, names map[named]bool, places map[place]bool) {
	for _, at := range lookouts(t.sidecars()) {
		places[at] = true
	}
	places[place{resource: namespaceResource}] = places[place{resource: namespaceResource}] || asksForLabels(t.sidecars())
	for _, namespace := range slices.Sorted(maps.Keys(pods)) {
		at := place{podResource, namespace}
		if budgetsHere := (place{budgets, namespace}); !places[budgetsHere] {
			places[budgetsHere] = true
			snapshot.Pulls = append(snapshot.Pulls, c.gatherPulls(names, namespace)...)
		}
		for _, name := range pods[namespace] {
			names[named{at, name}] = true
			seen := c.caches.find(at, name)
			if seen == nil || seen.pod == nil {
				continue
			}
			if first[seen.GetUID()] == nil {
				first[seen.GetUID()] = seen.pod
			}
			if pod := first[seen.GetUID()]; t.sidecars().Matches(pod.Labels) {
				snapshot.Matched[t.manifest.Ref] = append(snapshot.Matched[t.manifest.Ref], pod)
			}
		}
	}
}

// keepingLabels is a transform of a cache that also keeps labels.
func keepingLabels(transform func(any) (any, error)) func(any) (any, error) {
	return func(given any) (any, error) {
		made, err := transform(given)
		object, isObject := given.(metav1.Object)
		if seen, ok := made.(*sighting); ok && isObject && given != made {
			seen.SetLabels(object.GetLabels())
		}
		return made, err
	}
}
