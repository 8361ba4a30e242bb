package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/retry"
	"situ.gitops/planner"
)

// Adoption follows what "kubectl apply" recorded as its intent, the last-applied
// annotation: those fields change hands, so that what Git no longer has goes
// away at the first apply. Fields that kubectl owns beside them (defaults that
// the server filled in, edits) lose their owner and stay as they are: taking
// them over would remove values that the server fills in at creation only.

// kubectlManagers made or edited whole objects. Rollout, scale, label and
// annotate are not among them: what they set is somebody's wish beside Git.
var kubectlManagers = map[string]bool{
	"kubectl-client-side-apply": true, "before-first-apply": true, "kubectl": true, "kubectl-create": true, "kubectl-replace": true,
	"kubectl-edit": true, "kubectl-patch": true, "kubectl-set": true, "kubectl-run": true, "kubectl-expose": true,
}

func isKubectls(entry metav1.ManagedFieldsEntry) bool {
	return entry.Subresource == "" && kubectlManagers[entry.Manager]
}

// adopter says whether an object is kubectl's, and never was the manager's.
func adopter(manager string) func([]metav1.ManagedFieldsEntry) bool {
	return func(entries []metav1.ManagedFieldsEntry) bool {
		return !applied(entries, manager) && slices.ContainsFunc(entries, isKubectls)
	}
}

// applied says whether the manager has applied an object.
func applied(entries []metav1.ManagedFieldsEntry, manager string) bool {
	return slices.ContainsFunc(entries, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}

// dryRunAdoption shows what the object will be once it is adopted and applied.
func (c *Client) dryRunAdoption(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	live, err := c.door(t.place()).Get(ctx, t.manifest.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	intent, err := intentOf(live)
	if err != nil || intent == nil {
		return c.dryRunApply(ctx, t)
	}
	if err := withoutOthers(intent, live.GetManagedFields(), c.manager); err != nil {
		return nil, err
	}
	kind, patch, err := threeWay(intent, t.manifest.Object, live.Object, live.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return c.door(t.place()).Patch(ctx, t.manifest.Name, kind, patch, metav1.PatchOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: c.manager, FieldValidation: metav1.FieldValidationStrict})
}

// intentOf is the object that "kubectl apply" was last given, nil if it never was.
func intentOf(live *unstructured.Unstructured) (map[string]any, error) {
	text, ok := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	if !ok {
		return nil, nil
	}
	var intent map[string]any
	if err := json.Unmarshal([]byte(text), &intent); err != nil {
		return nil, fmt.Errorf("read its %s annotation: %w", corev1.LastAppliedConfigAnnotation, err)
	}
	return intent, nil
}

// threeWay removes what was intended and is wanted no longer, and sets what is wanted.
func threeWay(intent, wanted, live map[string]any, gvk schema.GroupVersionKind) (types.PatchType, []byte, error) {
	var texts [3][]byte
	for i, object := range []map[string]any{intent, wanted, live} {
		text, err := json.Marshal(object)
		if err != nil {
			return "", nil, err
		}
		texts[i] = text
	}
	builtIn, err := scheme.Scheme.New(gvk)
	if err != nil { // not built in: its lists have no keys
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(texts[0], texts[1], texts[2])
		return types.MergePatchType, patch, err
	}
	lookup, err := strategicpatch.NewPatchMetaFromStruct(builtIn)
	if err != nil {
		return "", nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], lookup, true)
	return types.StrategicMergePatchType, patch, err
}

// handOver changes who owns fields, in one guarded write of its own: kubectl's
// become the manager's, and the manager gives up those that the action disowns.
func (c *Client) handOver(ctx context.Context, at place, action planner.Action) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		live, err := c.door(at).Get(ctx, action.Ref.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && action.UID != "" && live.GetUID() != action.UID {
			return ErrChanged
		}
		if err != nil {
			return err
		}
		patch, err := handOverPatch(live, action, c.manager)
		if err != nil || patch == nil {
			return err
		}
		_, err = c.narrowDoor(at).Patch(ctx, action.Ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: c.manager})
		return err
	})
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// handOverPatch is a JSON patch, nil if every field has its right owner already.
func handOverPatch(live *unstructured.Unstructured, action planner.Action, manager string) ([]byte, error) {
	intent, err := intentOf(live)
	if err != nil {
		return nil, err
	}
	entries, adopted, disowned := live.GetManagedFields(), false, false
	if action.Adopt {
		wanted, _ := action.Body.(map[string]any)
		if entries, adopted, err = handedOver(entries, manager, live.GetAPIVersion(), intent, wanted); err != nil {
			return nil, err
		}
	}
	if entries, disowned, err = givenUp(entries, manager, action.Disown); err != nil || !adopted && !disowned {
		return nil, err
	}
	operations := []operation{
		// Replaced, not tested: so a newer version is a conflict, which is tried again.
		{Op: "replace", Path: "/metadata/resourceVersion", Value: live.GetResourceVersion()},
		{Op: "replace", Path: "/metadata/managedFields", Value: entries},
	}
	if adopted && intent != nil {
		operations = append(operations, operation{Op: "remove", Path: "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"})
	}
	return json.Marshal(operations)
}
