package kruise

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/planner"
)

// cloneSetOf is a CloneSet of one version.
func cloneSetOf(t *testing.T, version, spec string) planner.Manifest {
	t.Helper()
	m := advanced(t, "CloneSet", spec)
	m.APIVersion = Group + "/" + version
	m.Object["apiVersion"] = m.APIVersion
	return m
}

// TestBothVersionsOfACloneSetAskForTheSame: what the planner is asked for.
func TestBothVersionsOfACloneSetAskForTheSame(t *testing.T) {
	heavy := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	for _, tt := range []struct {
		name, alpha, beta string
		asks              func(*planner.Settings)
	}{
		{"nothing", "", "", func(*planner.Settings) {}},
		{
			"in place if possible", "updateStrategy: {type: InPlaceIfPossible, maxUnavailable: 2}",
			"updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceIfPossible, maxUnavailable: 2}}",
			func(s *planner.Settings) {
				s.Update, s.Explicit, s.MaxUnavailable = planner.InPlaceIfPossible, true, &planner.Amount{Value: 2}
			},
		},
		{
			"in place only, some, none for now", "updateStrategy: {type: InPlaceOnly, partition: 30%, paused: true}",
			"updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly, partition: 30%, paused: true}}",
			func(s *planner.Settings) {
				s.Update, s.Explicit, s.Paused, s.Partition = planner.InPlaceOnly, true, true, &planner.Amount{Value: 30, Percent: true}
			},
		},
		{"on delete", "updateStrategy: {type: OnDelete}", "updateStrategy: {type: OnDelete}", func(s *planner.Settings) { s.OnDelete = true }},
		{
			"an order", "updateStrategy: {priorityStrategy: {orderPriority: [{orderedKey: rank}]}, scatterStrategy: [{key: tier, value: gold}]}",
			"updateStrategy: {rollingUpdate: {priorityStrategy: {orderPriority: [{orderedKey: rank}]}, scatterStrategy: [{key: tier, value: gold}]}}",
			func(s *planner.Settings) {
				s.Priority, s.Scatter = planner.Priority{Keys: []string{"rank"}}, []planner.Scatter{{Key: "tier", Value: "gold"}}
			},
		},
		{
			"weights", "updateStrategy: {priorityStrategy: {weightPriority: [{weight: 50, matchSelector: {matchLabels: {tier: gold}}}]}}",
			"updateStrategy: {rollingUpdate: {priorityStrategy: {weightPriority: [{weight: 50, matchSelector: {matchLabels: {tier: gold}}}]}}}",
			func(s *planner.Settings) {
				s.Priority = planner.Priority{Weights: []planner.Weight{{Weight: 50, Selector: heavy}}}
			},
		},
		{
			"its own time and memory", "revisionHistoryLimit: 3\nprogressDeadlineSeconds: 90", "revisionHistoryLimit: 3\nprogressDeadlineSeconds: 90",
			func(s *planner.Settings) {
				three := 3
				s.History, s.Deadline = &three, 90*time.Second
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := planner.DefaultSettings()
			want.Update, want.MaxUnavailable = planner.ReCreate, &planner.Amount{Value: 20, Percent: true}
			tt.asks(&want)
			for version, spec := range map[string]string{"v1alpha1": tt.alpha, "v1beta1": tt.beta} {
				m := cloneSetOf(t, version, spec)
				if mistakes := Check(m); len(mistakes) > 0 {
					t.Fatalf("%s: Check: %v", version, mistakes)
				}
				host := Host(m)[0]
				if host.Ref != (planner.Ref{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "db"}) {
					t.Errorf("%s: the host is %v", version, host.Ref)
				}
				if got := host.Hosting.Settings; !reflect.DeepEqual(got, want) {
					t.Errorf("%s: asks for %+v, want %+v", version, got, want)
				}
				if named, ok := planner.HostedBy(&metav1.ObjectMeta{Name: "db", Namespace: "shop", Annotations: map[string]string{
					planner.AnnotationHosts: mapAt(host.Object, "metadata", "annotations")[planner.AnnotationHosts].(string),
				}}); !ok || named != m.Ref {
					t.Errorf("%s: the host says that it hosts %v, want %v", version, named, m.Ref)
				}
			}
		})
	}
}

func TestAGracePeriodOfACloneSetAddsTheReadinessGate(t *testing.T) {
	for spec, want := range map[string]int{"updateStrategy: {inPlaceUpdateStrategy: {gracePeriodSeconds: 7}}": 1, "updateStrategy: {inPlaceUpdateStrategy: {gracePeriodSeconds: 0}}": 0, "": 0} {
		m := cloneSetOf(t, "v1alpha1", spec)
		host := Host(m)[0]
		gates, _ := mapAt(host.Object, "spec", "template", "spec")["readinessGates"].([]any)
		if len(gates) != want || (host.Hosting.Settings.Grace > 0) != (want > 0) {
			t.Errorf("%q: gates are %v and the grace is %v", spec, gates, host.Hosting.Settings.Grace)
		}
		if mapAt(m.Object, "spec", "template", "spec")["readinessGates"] != nil {
			t.Errorf("%q: Host edited the manifest", spec)
		}
	}
}

func TestWhatNoCloneSetMayHave(t *testing.T) {
	for _, tt := range []struct{ version, spec, field, text string }{
		{"v1alpha1", "updateStrategy: {type: RollingUpdate}", "spec.updateStrategy.type", `is "RollingUpdate"; want ReCreate, InPlaceIfPossible, InPlaceOnly or OnDelete`},
		{"v1beta1", "updateStrategy: {type: InPlaceOnly}", "spec.updateStrategy.type", `is "InPlaceOnly"; want RollingUpdate or OnDelete`},
		{"v1beta1", "updateStrategy: {rollingUpdate: {podUpdatePolicy: OnDelete}}", "spec.updateStrategy.rollingUpdate.podUpdatePolicy", `is "OnDelete"; want ReCreate, InPlaceIfPossible or InPlaceOnly`},
		{"v1alpha1", "updateStrategy: {partition: 120%}", "spec.updateStrategy.partition", "0% to 100%"},
		{"v1beta1", "updateStrategy: {rollingUpdate: {maxUnavailable: -1}}", "spec.updateStrategy.rollingUpdate.maxUnavailable", `is "-1"`},
		{"v1alpha1", "updateStrategy: {priorityStrategy: {orderPriority: [{orderedKey: rank}], weightPriority: [{weight: 1, matchSelector: {matchLabels: {a: b}}}]}}", "spec.updateStrategy.priorityStrategy", "only one of them"},
		{"v1alpha1", "updateStrategy: {priorityStrategy: {orderPriority: [{orderedKey: ''}]}}", "spec.updateStrategy.priorityStrategy.orderPriority", "without orderedKey"},
		{"v1alpha1", "updateStrategy: {priorityStrategy: {weightPriority: [{weight: 101, matchSelector: {matchLabels: {a: b}}}]}}", "spec.updateStrategy.priorityStrategy.weightPriority", "0 to 100"},
		{"v1alpha1", "updateStrategy: {priorityStrategy: {weightPriority: [{weight: 1, matchSelector: {}}]}}", "spec.updateStrategy.priorityStrategy.weightPriority", "empty matchSelector"},
		{"v1alpha1", "updateStrategy: {priorityStrategy: {weightPriority: [{weight: 1, matchSelector: {matchExpressions: [{key: a, operator: Odd}]}}]}}", "spec.updateStrategy.priorityStrategy.weightPriority", "cannot be used"},
		{"v1alpha1", "updateStrategy: {scatterStrategy: [{key: '', value: a}]}", "spec.updateStrategy.scatterStrategy", "without a key"},
		{"v1alpha1", "updateStrategy: {scatterStrategy: [{key: a, value: b}, {key: a, value: b}]}", "spec.updateStrategy.scatterStrategy", `"a=b" twice`},
		{"v1beta1", "updateStrategy: {rollingUpdate: {inPlaceUpdateStrategy: {gracePeriodSeconds: -3}}}", "spec.updateStrategy.rollingUpdate.inPlaceUpdateStrategy.gracePeriodSeconds", "is -3; want 0 or more"},
		{"v1beta1", "progressDeadlineSeconds: 0", "spec.progressDeadlineSeconds", "is 0; want 1 or more"},
	} {
		mistakes := Check(cloneSetOf(t, tt.version, tt.spec))
		if len(mistakes) != 1 || !slices.Equal(mistakes[0].Path, strings.Split(tt.field, ".")) || !strings.Contains(mistakes[0].Text, tt.text) {
			t.Errorf("%s %s: Check: %v, want one mistake at %s: %s", tt.version, tt.spec, mistakes, tt.field, tt.text)
		}
	}
}
