package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"situ.gitops/planner"
)

// prove has an answer for each target that holds now. Those that the server could
// not give are the error; all others are kept.
func (c *Client) prove(ctx context.Context, targets []target) error {
	var (
		waiting sync.WaitGroup
		faults  = make([]error, len(targets))
		slots   = make(chan struct{}, c.workers)
		now     = time.Now()
	)
	for i, t := range targets {
		former := c.proofs.answer(t.manifest.Ref)
		digest, err := former.digest(t.manifest.Object)
		if err != nil {
			faults[i] = fmt.Errorf("%s: %w", t.manifest.Origin, err)
			continue
		}
		next := former
		next.basis, next.wanted = basisOf(t, digest), t.manifest.Object
		proofHolds, liveHolds := former.holds(next.basis, now), former.liveHolds(t)
		if proofHolds && liveHolds {
			continue
		}
		slots <- struct{}{}
		waiting.Go(func() {
			defer func() { <-slots }()
			if !liveHolds {
				faults[i] = c.read(ctx, t, &next)
			}
			if !proofHolds && faults[i] == nil {
				faults[i] = c.ask(ctx, t, &next)
			}
			if faults[i] == nil {
				c.proofs.keep(t.manifest.Ref, next)
			}
		})
	}
	waiting.Wait()
	return errors.Join(faults...)
}

// liveHolds says whether nothing needs to be read: the caches have the whole
// object, or it is the one that was read.
func (a answer) liveHolds(t target) bool {
	if t.live == nil || t.live.full != nil || t.live.pod != nil {
		return true
	}
	return a.live != nil && a.live.GetUID() == t.live.GetUID() && a.version == t.live.GetResourceVersion()
}

// read takes the whole object of a kind that the caches have only the metadata of.
func (c *Client) read(ctx context.Context, t target, into *answer) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := c.door(t.place()).Get(ctx, t.manifest.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		into.live, into.version, into.vanished = nil, "", true
		return nil
	}
	if err != nil {
		return failure("read", t.manifest.Ref, t.manifest.Object, err)
	}
	into.version, into.vanished = object.GetResourceVersion(), false
	cut(object)
	c.proofs.mask.hide(object)
	into.live, into.health = object, healthOf(object)
	return nil
}

// ask has the manifest proven by the server, and takes its words if it refuses.
func (c *Client) ask(ctx context.Context, t target, into *answer) error {
	into.proof = planner.Proof{Adopt: t.live != nil && t.live.adopt}
	into.askAgain = time.Time{}
	object, err := c.dryRun(ctx, t)
	if verdictOn(err) == refused {
		object, err = c.askWithClaims(ctx, t, into, err)
	}
	switch verdict := verdictOn(err); verdict {
	case accepted:
		cut(object)
		c.proofs.mask.hide(object)
		into.proof.Object, into.missed = object, 0
	case missing:
		into.proof.Missing, into.proof.Refusal = true, clean(err, t.manifest.Ref, t.manifest.Object)
		into.askAgain = time.Now().Add(min(missingHolds<<min(into.missed, 10), missingMost))
		into.missed++
	case refused:
		into.proof.Refusal, into.missed = clean(err, t.manifest.Ref, t.manifest.Object), 0
		if t.live != nil && t.live.full != nil {
			into.proof.Refusal += planner.ClaimTemplatesWayOut(t.manifest, t.live.full.Object)
		}
		into.askAgain = time.Now().Add(refusalHolds)
	case unanswered:
		return failure("prove", t.manifest.Ref, t.manifest.Object, err)
	}
	return nil
}

// askWithClaims asks for a StatefulSet once more, with the claim templates that it
// has: the server refuses others. What becomes of those of Git is for the plan.
func (c *Client) askWithClaims(ctx context.Context, t target, into *answer, refusal error) (*unstructured.Unstructured, error) {
	if t.live == nil || t.live.full == nil {
		return nil, refusal
	}
	kept, changed := planner.WithClaimTemplates(t.manifest, t.live.full.Object)
	if !changed {
		return nil, refusal
	}
	t.manifest = kept
	object, err := c.dryRun(ctx, t)
	if err != nil {
		return nil, refusal
	}
	into.proof.Claims = true
	return object, nil
}

var errKindMissing = errors.New("its kind is not served yet")

// dryRun sends the manifest in the way that shows what applying it would store.
func (c *Client) dryRun(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	if !t.served {
		return nil, errKindMissing
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	switch {
	case t.live != nil && t.live.pod != nil:
		return c.dryRunPod(ctx, t)
	case t.live != nil && t.live.adopt:
		return c.dryRunAdoption(ctx, t)
	}
	return c.dryRunApply(ctx, t)
}

func (c *Client) dryRunApply(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(t.manifest.Object)
	if err != nil {
		return nil, err
	}
	force := true
	return c.door(t.place()).Patch(ctx, t.manifest.Name, types.ApplyPatchType, body, metav1.PatchOptions{
		DryRun: []string{metav1.DryRunAll}, Force: &force, FieldManager: c.manager, FieldValidation: metav1.FieldValidationStrict})
}

// dryRunPod creates the pod under another name: an apply to the pod itself would
// be refused for every field that cannot change, and says nothing about its defaults.
func (c *Client) dryRunPod(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	metadata, _ := t.manifest.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["name"] = proofName(t.manifest.Name)
	pod := maps.Clone(t.manifest.Object)
	pod["metadata"] = metadata
	proven, err := c.door(t.place()).Create(ctx, &unstructured.Unstructured{Object: pod}, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: c.manager, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return nil, err
	}
	proven.SetName(t.manifest.Name)
	return proven, nil
}

// proofName is a name that no pod has, short enough to be a host name.
func proofName(name string) string {
	sum := sha256.Sum256([]byte(name))
	suffix := "-proof-" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), 63-len(suffix))] + suffix
}

func (c *Client) door(at place) dynamic.ResourceInterface {
	if at.namespace == "" {
		return c.dynamic.Resource(at.resource)
	}
	return c.dynamic.Resource(at.resource).Namespace(at.namespace)
}
