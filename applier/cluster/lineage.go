package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
)

// ErrNoPod says that there is no pod of that name.
var ErrNoPod = errors.New("there is no such pod")

// Lineage reads a pod and names what it belongs to: its controller first, and
// the controller's own last. A stock object that hosts the pods of another kind
// is followed by that workload. It asks the server, not the caches.
func (c *Client) Lineage(ctx context.Context, namespace, name string) (*corev1.Pod, []planner.Ref, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ref := planner.Ref{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name}
	object, err := c.door(place{podResource, namespace}).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, fmt.Errorf("%s: %w", ref, ErrNoPod)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", ref, err)
	}
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", ref, err)
	}
	owners, err := c.owners(ctx, pod)
	return pod, owners, err
}

// longestLineage is deeper than any chain of controllers that Kubernetes has.
const longestLineage = 5

func (c *Client) owners(ctx context.Context, object metav1.Object) ([]planner.Ref, error) {
	var owners []planner.Ref
	for range longestLineage {
		i := slices.IndexFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller })
		if i < 0 {
			break
		}
		of := object.GetOwnerReferences()[i]
		owner := planner.Ref{APIVersion: of.APIVersion, Kind: of.Kind, Namespace: object.GetNamespace(), Name: of.Name}
		owners = append(owners, owner)
		served, ok, err := c.kinds.lookup(ctx, owner)
		if err != nil || !ok {
			return owners, err
		}
		next, err := c.narrowDoor(place{served.resource, owner.Namespace}).Get(ctx, owner.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return owners, nil
		}
		if err != nil {
			return owners, fmt.Errorf("read %s: %w", owner, err)
		}
		if hosted, ok := planner.HostedBy(next); ok {
			owners = append(owners, hosted)
		}
		object = next
	}
	return owners, nil
}

// Drift is what others have written on a pod, given what Lineage said of it. It
// asks the server, not the caches.
func (c *Client) Drift(ctx context.Context, pod *corev1.Pod, owners []planner.Ref) ([]planner.Drift, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var workload *unstructured.Unstructured
	owned := map[types.UID][]*unstructured.Unstructured{}
	for _, owner := range slices.Backward(owners) {
		if !planner.IsWorkload(owner) {
			continue
		}
		served, ok, err := c.kinds.lookup(ctx, owner)
		if err != nil || !ok {
			return nil, err
		}
		object, err := c.door(place{served.resource, owner.Namespace}).Get(ctx, owner.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", owner, err)
		}
		if workload == nil {
			workload = object
			continue
		}
		owned[ownerOf(object)] = append(owned[ownerOf(object)], object)
	}
	if workload == nil {
		return nil, nil
	}
	templates, err := c.door(place{revisions, pod.Namespace}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the templates of %s %s: %w", workload.GetKind(), workload.GetName(), err)
	}
	for i := range templates.Items {
		owner := ownerOf(&templates.Items[i])
		owned[owner] = append(owned[owner], &templates.Items[i])
	}
	return planner.DriftOf(workload, owned, pod), nil
}
