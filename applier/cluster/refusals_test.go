package cluster

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"situ.gitops/planner"
)

func TestWhatTheServerWouldNotCreateIsRememberedForAWhile(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	ending := apierrors.NewForbidden(pods, "pull", errors.New("the namespace is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	create := planner.Action{Mode: planner.CreateOnly, Ref: planner.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "pull"}}
	dry, patch := create, create
	dry.DryRun, patch.Mode = true, planner.StrategicPatch
	for _, tt := range []struct {
		name   string
		action planner.Action
		err    error
		want   string
	}{
		{"a quota", create, apierrors.NewForbidden(pods, "pull", errors.New("exceeded quota: few")), `pods "pull" is forbidden: exceeded quota: few`},
		{"a namespace that ends", create, ending, `pods "pull" is forbidden: the namespace is being terminated`},
		{"no answer", create, errors.New("connection refused"), ""},
		{"too busy to say", create, apierrors.NewTooManyRequests("later", 1), ""},
		{"only asked", dry, apierrors.NewForbidden(pods, "pull", errors.New("exceeded quota: few")), ""},
		{"a patch", patch, apierrors.NewForbidden(pods, "pull", errors.New("not yours")), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				known := newRefusals()
				known.note(tt.action, tt.err)
				if got := known.holding(time.Now())[tt.action.Ref]; got != tt.want {
					t.Errorf("it holds %q, want %q", got, tt.want)
				}
				time.Sleep(refusalHolds)
				if got := known.holding(time.Now()); len(got) > 0 {
					t.Errorf("after %s it still holds %v", refusalHolds, got)
				}
			})
		})
	}
}
