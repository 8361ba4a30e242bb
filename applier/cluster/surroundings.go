package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"situ.gitops/planner"
)

// nodesRest is how long nodes that may not be listed are left alone.
const nodesRest = 10 * time.Minute

// surroundings is what the plan of workloads depends on beside them: who else
// scales them, which disruptions are allowed, and what nodes have already.
func (c *Client) surroundings(ctx context.Context, targets []target, matched map[planner.Ref]matched) (planner.Snapshot, error) {
	snapshot := planner.Snapshot{
		Autoscalers: map[planner.Ref]string{},
		Disruptions: map[string][]*policyv1.PodDisruptionBudget{},
	}
	done := map[string]bool{}
	for _, t := range targets {
		if !t.isWorkload() || done[t.manifest.Namespace] {
			continue
		}
		done[t.manifest.Namespace] = true
		c.addAutoscalers(snapshot.Autoscalers, t.manifest.Namespace)
		if err := c.addDisruptions(snapshot.Disruptions, t.manifest.Namespace); err != nil {
			return planner.Snapshot{}, err
		}
	}
	for _, pods := range matched {
		for namespace := range pods {
			if done[namespace] {
				continue
			}
			done[namespace] = true
			if err := c.addDisruptions(snapshot.Disruptions, namespace); err != nil {
				return planner.Snapshot{}, err
			}
		}
	}
	if len(done) == 0 {
		return snapshot, nil
	}
	pods, ok, err := c.kinds.lookup(ctx, planner.Ref{APIVersion: "v1", Kind: "Pod"})
	if err != nil {
		return planner.Snapshot{}, err
	}
	snapshot.Served.Resize = ok && slices.Contains(pods.subresources, "resize")
	if err := c.addClaims(ctx, targets, &snapshot); err != nil {
		return planner.Snapshot{}, err
	}
	return snapshot, c.addNodes(ctx, &snapshot)
}

// addAutoscalers tells who owns the replicas of a namespace's workloads. KEDA
// scales through a HorizontalPodAutoscaler, too.
func (c *Client) addAutoscalers(found map[planner.Ref]string, namespace string) {
	for _, seen := range c.caches.all(place{autoscalers, namespace}) {
		target, _, _ := unstructured.NestedStringMap(seen.full.Object, "spec", "scaleTargetRef")
		ref := planner.Ref{APIVersion: target["apiVersion"], Kind: target["kind"], Namespace: namespace, Name: target["name"]}
		found[ref] = "horizontalpodautoscaler/" + seen.GetName()
	}
}

func (c *Client) addDisruptions(found map[string][]*policyv1.PodDisruptionBudget, namespace string) error {
	for _, seen := range c.caches.all(place{budgets, namespace}) {
		budget := &policyv1.PodDisruptionBudget{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(seen.full.Object, budget); err != nil {
			return fmt.Errorf("read poddisruptionbudget/%s in %s: %w", seen.GetName(), namespace, err)
		}
		found[namespace] = append(found[namespace], budget)
	}
	return nil
}

// addNodes tells what each node has: images, room for pods, and labels. A user who may
// not list nodes knows of none: every image is pulled before it is needed,
// whether it is there or not.
func (c *Client) addNodes(ctx context.Context, snapshot *planner.Snapshot) error {
	if time.Now().Before(c.nodesAgain) {
		return nil
	}
	at := place{resource: nodeResource}
	if _, err := c.caches.ensure(ctx, []place{at}); isFinal(err) {
		c.nodesAgain = time.Now().Add(nodesRest)
		c.log.WithError(err).Warn("images on nodes are not known: every new image is pulled once before it is used")
		return nil
	} else if err != nil {
		return err
	}
	snapshot.Images = map[string]map[string]bool{}
	snapshot.Allocatable = map[string]corev1.ResourceList{}
	snapshot.NodeLabels = map[string]map[string]string{}
	for _, node := range c.caches.all(at) {
		snapshot.Images[node.GetName()] = node.images
		snapshot.Allocatable[node.GetName()] = node.room
		snapshot.NodeLabels[node.GetName()] = node.labels
	}
	return nil
}
