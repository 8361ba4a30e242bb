package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"situ.gitops/planner"
)

// Do carries one action out. errors.Is(err, ErrChanged) says that its object is
// no longer the one that the action was decided on, and that nothing was written.
// The next Snapshot shows what Do wrote.
func (c *Client) Do(ctx context.Context, action planner.Action) error {
	served, ok, err := c.kinds.lookup(ctx, action.Ref)
	if err != nil {
		return fmt.Errorf("%s %s: %w", action.Mode, action.Ref, err)
	}
	if !ok {
		return fmt.Errorf("%s %s: the cluster has no kind %s in %s", action.Mode, action.Ref, action.Ref.Kind, action.Ref.APIVersion)
	}
	at := place{served.resource, action.Ref.Namespace}
	if err := c.unchanged(at, action); err != nil {
		return fmt.Errorf("%s %s: %w", action.Mode, action.Ref, err)
	}
	if (action.Adopt || len(action.Disown) > 0) && !action.DryRun {
		if err := c.handOver(ctx, at, action); err != nil {
			return c.judge("change the owner of fields of", action, err)
		}
	}
	if err := c.write(ctx, at, action); err != nil {
		return c.judge(string(action.Mode), action, err)
	}
	if served.resource.Resource == "namespaces" || served.resource.Resource == "customresourcedefinitions" {
		c.kinds.impatient()
		c.proofs.impatient()
	}
	return nil
}

// unchanged compares a pod with the one that the action was decided on, without
// a request: the server has no precondition on a generation.
func (c *Client) unchanged(at place, action planner.Action) error {
	if at.resource != podResource || action.Generation == 0 {
		return nil
	}
	now := c.caches.find(at, action.Ref.Name)
	if now == nil || now.GetUID() != action.UID || now.GetGeneration() != action.Generation {
		return ErrChanged
	}
	return nil
}

// judge tells a change by somebody else from a failure.
func (c *Client) judge(verb string, action planner.Action, err error) error {
	gone := apierrors.IsNotFound(err) && action.UID != ""
	if errors.Is(err, ErrChanged) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || gone || guardHeld(action, err) {
		return fmt.Errorf("%s %s: %w", verb, action.Ref, ErrChanged)
	}
	c.refusals.note(action, err)
	return failure(verb, action.Ref, action.Body, err)
}

// guardHeld says whether a write was refused for its guard: another UID counts as
// an edit of an immutable field, and a JSON patch whose tests fail, or whose
// places are not there, is unprocessable without any word on why.
func guardHeld(action planner.Action, err error) bool {
	if !apierrors.IsInvalid(err) {
		return false
	}
	var answer apierrors.APIStatus
	errors.As(err, &answer)
	details := answer.Status().Details
	if details == nil || len(details.Causes) == 0 {
		return action.Mode == planner.JSONPatch
	}
	return slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

func (c *Client) write(ctx context.Context, at place, action planner.Action) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	door := c.narrowDoor(at)
	options := metav1.PatchOptions{FieldManager: c.manager, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRunOf(action)}
	switch action.Mode {
	case planner.ServerSideApply:
		force := true
		options.Force = &force
		return c.patch(ctx, door, at, action, types.ApplyPatchType, guardedApply(action), options)
	case planner.StrategicPatch:
		return c.patch(ctx, door, at, action, types.StrategicMergePatchType, withMetadata(action.Body, "uid", string(action.UID)), options)
	case planner.JSONPatch:
		return c.patch(ctx, door, at, action, types.JSONPatchType, guardedOperations(action), options)
	case planner.CreateOnly:
		return c.create(ctx, at, action)
	case planner.Delete:
		return c.delete(ctx, door, at, action)
	}
	return fmt.Errorf("unknown mode %q", action.Mode)
}

func dryRunOf(action planner.Action) []string {
	if action.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// patch asks for the metadata of the result only.
func (c *Client) patch(ctx context.Context, door metadata.ResourceInterface, at place, action planner.Action, kind types.PatchType, body any, options metav1.PatchOptions) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write as JSON: %w", err)
	}
	var subresources []string
	if action.Subresource != "" {
		subresources = []string{action.Subresource}
	}
	result, err := door.Patch(ctx, action.Ref.Name, kind, text, options, subresources...)
	if err != nil || action.DryRun {
		return err
	}
	c.expect(at, result, write{version: result.GetResourceVersion()})
	return nil
}

func (c *Client) create(ctx context.Context, at place, action planner.Action) error {
	object, ok := action.Body.(map[string]any)
	if !ok {
		return fmt.Errorf("its body is a %T; want an object", action.Body)
	}
	result, err := c.door(at).Create(ctx, &unstructured.Unstructured{Object: object},
		metav1.CreateOptions{FieldManager: c.manager, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRunOf(action)})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil || action.DryRun {
		return err
	}
	c.expect(at, result, write{version: result.GetResourceVersion()})
	return nil
}

func (c *Client) delete(ctx context.Context, door metadata.ResourceInterface, at place, action planner.Action) error {
	policy := metav1.DeletePropagationBackground
	if action.Orphan {
		policy = metav1.DeletePropagationOrphan
	}
	options := metav1.DeleteOptions{PropagationPolicy: &policy, DryRun: dryRunOf(action)}
	if action.UID != "" {
		options.Preconditions = &metav1.Preconditions{UID: &action.UID}
	}
	if err := door.Delete(ctx, action.Ref.Name, options); err != nil || action.DryRun {
		return err
	}
	c.expect(at, &metav1.ObjectMeta{Name: action.Ref.Name, UID: action.UID}, write{deletion: true})
	return nil
}

// expect makes the next snapshot wait until the cache of the place shows a write.
func (c *Client) expect(at place, written metav1.Object, expected write) {
	if written.GetUID() == "" || c.caches.at(at) == nil {
		return
	}
	c.writes.expect(written.GetUID(), expected, func() *sighting { return c.caches.find(at, written.GetName()) })
}

func (c *Client) narrowDoor(at place) metadata.ResourceInterface {
	if at.namespace == "" {
		return c.metadata.Resource(at.resource)
	}
	return c.metadata.Resource(at.resource).Namespace(at.namespace)
}

// neverVersion is a version that no object has: etcd's first write makes version 2.
// A create by apply ignores it, an update with it is a conflict.
const neverVersion = "1"

// guardedApply applies to the object that was there, or to none if none was.
func guardedApply(action planner.Action) any {
	if action.UID == "" {
		return withMetadata(action.Body, "resourceVersion", neverVersion)
	}
	return withMetadata(action.Body, "uid", string(action.UID))
}

// withMetadata copies a body, with one more field of metadata.
func withMetadata(body any, field, value string) any {
	object, ok := body.(map[string]any)
	if !ok || value == "" {
		return body
	}
	object = maps.Clone(object)
	fields, _ := object["metadata"].(map[string]any)
	fields = maps.Clone(fields)
	if fields == nil {
		fields = map[string]any{}
	}
	fields[field] = value
	object["metadata"] = fields
	return object
}

// guardedOperations puts a test of the UID in front.
func guardedOperations(action planner.Action) any {
	if action.UID == "" {
		return action.Body
	}
	guard := map[string]any{"op": "test", "path": "/metadata/uid", "value": string(action.UID)}
	switch operations := action.Body.(type) {
	case []any:
		return append([]any{guard}, operations...)
	case []map[string]any:
		return append([]map[string]any{guard}, operations...)
	}
	return action.Body
}
