package planner

import (
	"slices"
	"strings"
	"testing"
)

const claiming = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: app, image: 'app:v1'}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// claimsPlan plans a change of claim templates with these claims in the cluster.
func claimsPlan(t *testing.T, words []string, claims Claims, asks func(*Settings)) (WorkloadPlan, []Action) {
	t.Helper()
	from, to := manifest(t, claiming), manifest(t, strings.NewReplacer(words...).Replace(claiming))
	if asks != nil {
		to = asking(to, asks)
	}
	snap := Assume([]Manifest{from}, []Manifest{to})
	if claims != nil {
		snap.Claims = map[string]Claims{"shop": claims}
	}
	snap.Expandable = map[string]bool{"fast": true, "slow": false}
	plan := Decide(Commit{ID: "c2", Manifests: []Manifest{to}, Policy: Policy{Pull: PullNever}}, snap).Workloads[0]
	var grown []Action
	for _, step := range plan.Steps {
		for _, action := range step {
			if action.Ref.Kind == "PersistentVolumeClaim" {
				grown = append(grown, action)
			}
			if body, ok := action.Body.(map[string]any); ok && action.Ref == to.Ref {
				if templates := claimTemplates(body); len(templates) != 1 || compareStorage(storageOf(templates["data"].(map[string]any)), "1Gi") != 0 {
					t.Errorf("%s sends claim templates %v, want those of the cluster", action.Text, templates)
				}
			}
		}
	}
	return plan, grown
}

// TestChangedClaimTemplatesAreToldAndTheRestGoesOn: each change of a claim
// template is a line of the plan, and an image beside it is updated.
func TestChangedClaimTemplatesAreToldAndTheRestGoesOn(t *testing.T) {
	one := []string{"app:v1", "app:v2"}
	for _, tt := range []struct {
		name   string
		words  []string
		claims Claims
		asks   func(*Settings)
		says   []string // one for each line
		grow   []string
	}{
		{"the same in other words", []string{"1Gi", "1024Mi"}, Claims{}, nil, nil, nil},
		{
			"more storage", []string{"1Gi", "2Gi"},
			Claims{"data-db-0": {Class: "fast", Storage: "1Gi"}, "data-db-1": {Class: "fast", Storage: "2048Mi"}, "data-other-0": {Class: "fast", Storage: "1Gi"}},
			nil, []string{"claims grow from 1Gi to 2Gi"}, []string{"data-db-0"},
		},
		{
			"more storage than a class gives", []string{"1Gi", "2Gi"},
			Claims{"data-db-0": {Class: "slow", Storage: "1Gi"}, "data-db-1": {Class: "fast", Storage: "1Gi"}},
			nil, []string{"claims grow", `claim data-db-0 stays at 1Gi: storage class "slow" does not allow`}, []string{"data-db-1"},
		},
		{"claims that nobody may list", []string{"1Gi", "2Gi"}, nil, nil, []string{"claims grow", "grant the verbs"}, nil},
		{
			"claims that stay", []string{"1Gi", "2Gi"}, Claims{"data-db-0": {Class: "fast", Storage: "1Gi"}},
			func(a *Settings) { a.KeepClaims = true }, []string{"OnPodRollingUpdate"}, nil,
		},
		{
			"paused", []string{"1Gi", "2Gi"}, Claims{"data-db-0": {Class: "fast", Storage: "1Gi"}},
			func(a *Settings) { a.Paused = true }, []string{"once updates are not paused"}, nil,
		},
		{"less storage", []string{"1Gi", "500Mi"}, Claims{"data-db-0": {Class: "fast", Storage: "1Gi"}}, nil, []string{"a claim never shrinks"}, nil},
		{"another class", []string{"fast", "slow"}, Claims{}, nil, []string{"spec.storageClassName differs"}, nil},
		{"another label", []string{"{name: data}", "{name: data, labels: {a: b}}"}, Claims{}, nil, []string{"metadata.labels differs"}, nil},
		{"another name", []string{"{name: data}", "{name: disk}"}, Claims{}, nil, []string{"Git has it no longer", "it is new"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, grown := claimsPlan(t, append(slices.Clone(tt.words), one...), tt.claims, tt.asks)
			if len(plan.Warnings) != len(tt.says) {
				t.Fatalf("the plan says %q, want %d lines", plan.Warnings, len(tt.says))
			}
			for i, want := range tt.says {
				if !strings.Contains(plan.Warnings[i], want) {
					t.Errorf("line %d is %q, want %q in it", i+1, plan.Warnings[i], want)
				}
			}
			var names []string
			for _, action := range grown {
				names = append(names, action.Ref.Name)
			}
			if !slices.Equal(names, tt.grow) {
				t.Errorf("claims %v grow, want %v", names, tt.grow)
			}
			if quiet, _ := claimsPlan(t, tt.words, nil, tt.asks); len(tt.says) > 0 && quiet.State == Settled && !strings.HasPrefix(quiet.Text, "spec.volumeClaimTemplates[") {
				t.Errorf("settled, and the text is %q; want what becomes of the claims", quiet.Text)
			}
			if plan.Verdict != Restart {
				t.Errorf("the verdict is %s, want the image to restart in place", plan.Verdict)
			}
		})
	}
}
