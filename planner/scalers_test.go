package planner

import (
	"slices"
	"testing"
)

func TestAnAutoscalerOfAHostedWorkloadMustNameItsHost(t *testing.T) {
	web := workload(t, "ReplicaSet")
	web.Hosting = &Hosting{Ref: Ref{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Namespace: "shop", Name: "web"}, Settings: DefaultSettings()}
	scaler := func(target string) Manifest {
		return manifest(t, "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: more, namespace: shop}, spec: {scaleTargetRef: "+target+"}}")
	}
	warning := "horizontalpodautoscaler/more finds nothing to scale, since this cluster does not serve CloneSet: " +
		"let its scaleTargetRef name apps/v1 ReplicaSet web, and the replicas are left to it"
	for _, tt := range []struct {
		name    string
		commit  []Manifest
		cluster map[Ref]string
		want    []string
	}{
		{"by the kind that Git has, in any version", []Manifest{web, scaler("{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: web}")}, nil, []string{warning}},
		{"by its host", []Manifest{web, scaler("{apiVersion: apps/v1, kind: ReplicaSet, name: web}")}, nil, nil},
		{"another workload", []Manifest{web, scaler("{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: cache}")}, nil, nil},
		{"in the cluster", []Manifest{web}, map[Ref]string{web.Hosting.Ref: "horizontalpodautoscaler/more"}, []string{warning}},
		{"in both", []Manifest{web, scaler("{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}")}, map[Ref]string{web.Hosting.Ref: "horizontalpodautoscaler/more"}, []string{warning}},
	} {
		snap := Assume([]Manifest{web}, tt.commit)
		snap.Autoscalers = tt.cluster
		plan := Decide(Commit{ID: "c", Manifests: tt.commit}, snap)
		if got := plan.Workloads[0].Warnings; !slices.Equal(got, tt.want) {
			t.Errorf("%s: warned %q, want %q", tt.name, got, tt.want)
		}
	}
}
