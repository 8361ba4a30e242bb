package cluster

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"situ.gitops/planner"
)

// target is one manifest with what the cluster has for it.
type target struct {
	manifest planner.Manifest
	kind     kind
	served   bool
	live     *sighting // nil: it is not there
}

func (t target) place() place { return place{t.kind.resource, t.manifest.Namespace} }

func (t target) isWorkload() bool {
	return t.served && (slices.Contains(workloads, t.kind.resource) || followed(t.kind.resource))
}

// Snapshot shows what the cluster has of a commit, as Resolve gave it. It costs no
// request unless a manifest or its object changed. An error means that the cluster
// could not be asked; proofs that were answered are kept for the next try.
func (c *Client) Snapshot(ctx context.Context, commit planner.Commit) (planner.Snapshot, error) {
	c.snapshotting.Lock()
	defer c.snapshotting.Unlock()
	c.changes.begin()
	snapshot, err := c.take(ctx, commit)
	if err != nil {
		c.changes.abandon()
		return planner.Snapshot{}, err
	}
	return snapshot, nil
}

func (c *Client) take(ctx context.Context, commit planner.Commit) (planner.Snapshot, error) {
	targets, err := c.targets(ctx, commit)
	if err != nil {
		return planner.Snapshot{}, err
	}
	seen, err := c.writes.wait(ctx)
	if err != nil {
		return planner.Snapshot{}, err
	}
	if !seen {
		c.log.WithField("patience", writesPatience).Warn("watches are late: the snapshot may be older than the last write")
	}
	for i := range targets {
		if targets[i].served {
			targets[i].live = c.caches.find(targets[i].place(), targets[i].manifest.Name)
		}
	}
	if err := c.prove(ctx, targets); err != nil {
		return planner.Snapshot{}, err
	}
	matched, err := c.ensureMatched(ctx, targets)
	if err != nil {
		return planner.Snapshot{}, err
	}
	around, err := c.surroundings(ctx, targets, matched)
	if err != nil {
		return planner.Snapshot{}, err
	}
	return c.gather(targets, matched, around), nil
}

// targets finds how each manifest's kind is served, and has the caches that the
// commit needs. A kind that went meanwhile is one that is not served.
func (c *Client) targets(ctx context.Context, commit planner.Commit) ([]target, error) {
	targets := make([]target, len(commit.Manifests))
	needed := map[place]bool{}
	for i, manifest := range commit.Manifests {
		served, ok, err := c.kinds.lookup(ctx, manifest.Ref)
		if err != nil {
			return nil, err
		}
		targets[i] = target{manifest: manifest, kind: served, served: ok}
		if !ok {
			continue
		}
		needed[targets[i].place()] = true
		if targets[i].isWorkload() {
			for _, resource := range besideWorkloads {
				needed[place{resource, manifest.Namespace}] = true
			}
			for _, at := range targets[i].namesakes() {
				needed[at.place] = true
			}
		}
	}
	gone, err := c.caches.ensure(ctx, sortedPlaces(maps.Keys(needed)))
	if err != nil {
		return nil, err
	}
	for _, at := range gone {
		c.kinds.forget(at.resource.GroupVersion())
		for i := range targets {
			if targets[i].place() == at {
				targets[i].served = false
			}
		}
	}
	return targets, nil
}

// gather puts the snapshot together, from the caches alone.
func (c *Client) gather(targets []target, matched map[planner.Ref]matched, snapshot planner.Snapshot) planner.Snapshot {
	snapshot.Now = time.Now()
	snapshot.Refused = c.refusals.holding(snapshot.Now)
	snapshot.Live = make(map[planner.Ref]planner.Live, len(targets))
	snapshot.Proofs = make(map[planner.Ref]planner.Proof, len(targets))
	snapshot.Owned = map[types.UID][]*unstructured.Unstructured{}
	snapshot.Pods = map[types.UID][]*corev1.Pod{}
	snapshot.Matched = map[planner.Ref][]*corev1.Pod{}
	snapshot.Namesakes, snapshot.Strays = map[planner.Ref]planner.Namesake{}, map[string]planner.Strays{}
	names, owners, places := make(map[named]bool, len(targets)), map[types.UID]bool{}, map[place]bool{}
	for _, t := range targets {
		answer := c.proofs.answer(t.manifest.Ref)
		snapshot.Proofs[t.manifest.Ref] = answer.proof
		names[named{t.place(), t.manifest.Name}] = t.served
		if t.isWorkload() {
			if budgetsHere := (place{budgets, t.manifest.Namespace}); !places[budgetsHere] {
				places[budgetsHere] = true
				snapshot.Pulls = append(snapshot.Pulls, c.gatherPulls(names, t.manifest.Namespace)...)
			}
			c.gatherNamesakes(snapshot, t, names, owners)
			c.gatherStrays(snapshot, t, owners)
			if answer.proof.Claims {
				places[place{claims, t.manifest.Namespace}] = true
			}
		}
		if t.live == nil || answer.vanished {
			continue
		}
		if t.sidecars() != nil {
			owners[t.live.GetUID()] = true // of pods that bring images
		}
		snapshot.Live[t.manifest.Ref] = liveOf(t, answer)
		if t.isWorkload() {
			c.gatherOwned(snapshot, owners, t.manifest.Namespace, t.live.GetUID())
		}
	}
	c.gatherMatched(&snapshot, targets, matched, names, places)
	c.changes.ringAt(c.proofs.keepOnly(targets))
	c.changes.end(names, owners, places)
	return snapshot
}

// gatherPulls gives the pods of a namespace that bring images to nodes. Whoever
// made them, workloads may wait for them.
func (c *Client) gatherPulls(names map[named]bool, namespace string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pull := range c.caches.pulls(namespace) {
		pods = append(pods, pull.pod)
		names[named{place{podResource, namespace}, pull.GetName()}] = true
	}
	return pods
}

// gatherOwned adds what a workload owns, and what its ReplicaSets own.
func (c *Client) gatherOwned(snapshot planner.Snapshot, owners map[types.UID]bool, namespace string, owner types.UID) {
	if owners[owner] {
		return
	}
	owners[owner] = true
	for _, pod := range c.caches.owned(place{podResource, namespace}, owner) {
		snapshot.Pods[owner] = append(snapshot.Pods[owner], pod.pod)
	}
	for _, revision := range c.caches.owned(place{revisions, namespace}, owner) {
		snapshot.Owned[owner] = append(snapshot.Owned[owner], revision.full)
	}
	for _, set := range c.caches.owned(place{replicaSets, namespace}, owner) {
		snapshot.Owned[owner] = append(snapshot.Owned[owner], set.full)
		c.gatherOwned(snapshot, owners, namespace, set.GetUID())
	}
}

// liveOf is the object as the caches have it, or as the proof read it.
func liveOf(t target, answer answer) planner.Live {
	switch {
	case t.live.full != nil:
		return planner.Live{Object: t.live.full, Health: healthOf(t.live.full)}
	case t.live.pod != nil:
		object := podObject(t.live.pod)
		return planner.Live{Object: object, Health: healthOf(object)}
	}
	return planner.Live{Object: answer.live, Health: answer.health}
}

func podObject(pod *corev1.Pod) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		panic("a pod that cannot be written as JSON: " + err.Error())
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetAPIVersion("v1")
	object.SetKind("Pod")
	return object
}

func healthOf(object *unstructured.Unstructured) planner.Health {
	result, err := status.Compute(object)
	if err != nil {
		return planner.Health{Status: string(status.UnknownStatus), Text: err.Error()}
	}
	ref := planner.Ref{APIVersion: object.GetAPIVersion(), Kind: object.GetKind()}
	return planner.Health{Status: string(result.Status), Text: withoutValues(result.Message, secretsIn(ref, object.Object))}
}
