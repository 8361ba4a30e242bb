package manifest

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"situ.gitops/planner"
)

// newScheme holds the stable built-in kinds. Others pass as they are: the API
// server knows them, and its dry run tells.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme,
		autoscalingv2.AddToScheme, batchv1.AddToScheme, coordinationv1.AddToScheme,
		corev1.AddToScheme, discoveryv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme,
		policyv1.AddToScheme, rbacv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
	} {
		utilruntime.Must(add(scheme)) // compiled in: it works or the tests never passed
	}
	return scheme
}

// misspelt says what was meant by a kind that its group does not have, "" if it
// may be a kind that is newer than this program.
func (t *types) misspelt(ref planner.Ref) string {
	wanted := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if !t.scheme.IsVersionRegistered(wanted.GroupVersion()) {
		return ""
	}
	var elsewhere, similar []string
	for kind := range t.scheme.AllKnownTypes() {
		if kind.Version == runtime.APIVersionInternal {
			continue
		}
		if kind.Kind == wanted.Kind {
			elsewhere = append(elsewhere, kind.GroupVersion().String())
		}
		if kind.GroupVersion() == wanted.GroupVersion() && near(kind.Kind, wanted.Kind) {
			similar = append(similar, kind.Kind)
		}
	}
	if len(elsewhere) > 0 {
		return fmt.Sprintf("%s is not in %s; want apiVersion %s", ref.Kind, ref.APIVersion, slices.Max(elsewhere))
	}
	if len(similar) > 0 {
		return fmt.Sprintf("is %q, which %s does not have; did you mean %s?", short(ref.Kind), ref.APIVersion, slices.Min(similar))
	}
	return ""
}
