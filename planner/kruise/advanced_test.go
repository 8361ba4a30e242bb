package kruise

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"situ.gitops/planner"
)

// advanced is a workload of three pods, with more fields of its spec.
func advanced(t *testing.T, kind, spec string) planner.Manifest {
	t.Helper()
	text := fmt.Sprintf(`
apiVersion: apps.kruise.io/v1beta1
kind: %s
metadata: {name: db, namespace: shop}
spec:
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: app, image: "app:v1"}]}
`, kind)
	for _, line := range strings.Split(spec, "\n") {
		text += "  " + line + "\n"
	}
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	ref := planner.Ref{APIVersion: "apps.kruise.io/v1beta1", Kind: kind, Namespace: "shop", Name: "db"}
	return planner.Manifest{Ref: ref, Object: object}
}

// TestAdvancedKindsAskTheirHostsForWhatTheyCan: the stock object's spec beside
// selector and template, and what the planner is asked for.
func TestAdvancedKindsAskTheirHostsForWhatTheyCan(t *testing.T) {
	for _, tt := range []struct {
		name, kind, spec string
		host             string
		asks             func(*planner.Settings)
	}{
		{"a set that asks for nothing", "StatefulSet", "replicas: 3", `{"replicas":3}`, nil},
		{
			"in place, in order", "StatefulSet",
			"podManagementPolicy: Parallel\nupdateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly, partition: 1, maxUnavailable: 40%, minReadySeconds: 5}}",
			`{"minReadySeconds":5,"podManagementPolicy":"Parallel","updateStrategy":{"rollingUpdate":{"maxUnavailable":"40%","partition":1}}}`,
			func(s *planner.Settings) {
				s.Update, s.Explicit, s.MaxUnavailable = planner.InPlaceOnly, true, &planner.Amount{Value: 40, Percent: true}
			},
		},
		{
			"paused", "StatefulSet", "updateStrategy: {rollingUpdate: {paused: true}}", `{}`,
			func(s *planner.Settings) { s.Paused = true },
		},
		{
			"what a stock set has, too", "StatefulSet",
			"serviceName: db\nrevisionHistoryLimit: 3\nordinals: {start: 2}\npersistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\nupdateStrategy: {type: OnDelete}",
			`{"ordinals":{"start":2},"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"},"revisionHistoryLimit":3,"serviceName":"db"}`,
			func(s *planner.Settings) { s.OnDelete = true },
		},
		{
			"in any order", "StatefulSet",
			"podManagementPolicy: Parallel\nupdateStrategy: {rollingUpdate: {partition: 2, maxUnavailable: 2, unorderedUpdate: {priorityStrategy: {orderPriority: [{orderedKey: rank}]}}}}",
			`{"podManagementPolicy":"Parallel","updateStrategy":{"rollingUpdate":{"maxUnavailable":2}}}`,
			func(s *planner.Settings) {
				s.AnyOrder, s.Partition, s.MaxUnavailable = true, &planner.Amount{Value: 2}, &planner.Amount{Value: 2}
				s.Priority = planner.Priority{Keys: []string{"rank"}}
			},
		},
		{
			"claims that grow", "StatefulSet", "volumeClaimUpdateStrategy: {type: OnPodRollingUpdate}", `{}`,
			func(s *planner.Settings) { s.KeepClaims = false },
		},
		{"a daemon that asks for nothing", "DaemonSet", "", `{}`, nil},
		{
			"standard", "DaemonSet", "minReadySeconds: 2\nupdateStrategy: {type: RollingUpdate, rollingUpdate: {rollingUpdateType: Standard, maxUnavailable: 2}}",
			`{"minReadySeconds":2,"updateStrategy":{"rollingUpdate":{"maxUnavailable":2},"type":"RollingUpdate"}}`, nil,
		},
		{
			"standard, no pod unavailable", "DaemonSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 0}}", `{}`, nil,
		},
		{
			"surging", "DaemonSet", "updateStrategy: {rollingUpdate: {rollingUpdateType: Surging}}",
			`{"updateStrategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}}`, nil,
		},
		{
			"a share surging", "DaemonSet", "updateStrategy: {rollingUpdate: {maxSurge: 30%, maxUnavailable: 0}}",
			`{"updateStrategy":{"rollingUpdate":{"maxSurge":"30%","maxUnavailable":0}}}`, nil,
		},
		{
			"in place, half of them", "DaemonSet", "updateStrategy: {rollingUpdate: {rollingUpdateType: InPlaceIfPossible, partition: 50%, paused: true}}", `{}`,
			func(s *planner.Settings) {
				s.Update, s.Explicit, s.Paused, s.Partition = planner.InPlaceIfPossible, true, true, &planner.Amount{Value: 50, Percent: true}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := advanced(t, tt.kind, tt.spec)
			if mistakes := Check(m); len(mistakes) > 0 {
				t.Fatalf("Check: %v", mistakes)
			}
			hosts := Host(m)
			if len(hosts) != 1 || hosts[0].APIVersion != "apps/v1" || hosts[0].Kind != tt.kind || hosts[0].Name != "db" {
				t.Fatalf("Host: %v, want one stock %s", hosts, tt.kind)
			}
			spec := mapAt(hosts[0].Object, "spec")
			delete(spec, "selector")
			delete(spec, "template")
			text, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			if string(text) != tt.host {
				t.Errorf("the host's spec is\n%s, want\n%s", text, tt.host)
			}
			want := planner.DefaultSettings()
			want.Update, want.KeepClaims = planner.ReCreate, tt.kind == "StatefulSet"
			if tt.asks != nil {
				tt.asks(&want)
			}
			if got := hosts[0].Hosting.Settings; !reflect.DeepEqual(got, want) {
				t.Errorf("asks for %+v, want %+v", got, want)
			}
		})
	}
}

func TestAGracePeriodAddsTheReadinessGateOnce(t *testing.T) {
	m := advanced(t, "StatefulSet", "updateStrategy: {rollingUpdate: {inPlaceUpdateStrategy: {gracePeriodSeconds: 7}}}")
	for range 2 {
		host := Host(m)[0]
		gates, _ := mapAt(host.Object, "spec", "template", "spec")["readinessGates"].([]any)
		if len(gates) != 1 || host.Hosting.Settings.Grace.Seconds() != 7 {
			t.Fatalf("gates are %v and the grace is %v; want one gate and 7s", gates, host.Hosting.Settings.Grace)
		}
		mapAt(m.Object, "spec")["template"] = mapAt(host.Object, "spec", "template")
	}
}

// TestAdvancedKindsAreChecked: what is refused, at which field.
func TestAdvancedKindsAreChecked(t *testing.T) {
	rolling := func(fields string) string { return "updateStrategy: {rollingUpdate: {" + fields + "}}" }
	for _, tt := range []struct{ kind, spec, at string }{
		{"StatefulSet", "updateStrategy: {type: Rolling}", "updateStrategy.type"},
		{"StatefulSet", "updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}", "updateStrategy.rollingUpdate"},
		{"StatefulSet", rolling("podUpdatePolicy: InPlace"), "updateStrategy.rollingUpdate.podUpdatePolicy"},
		{"StatefulSet", rolling("maxUnavailable: 2"), "updateStrategy.rollingUpdate.maxUnavailable"}, // case sts-007
		{"StatefulSet", "podManagementPolicy: Parallel\n" + rolling("maxUnavailable: 120%"), "updateStrategy.rollingUpdate.maxUnavailable"},
		{"StatefulSet", rolling("partition: -1"), "updateStrategy.rollingUpdate.partition"},
		{"StatefulSet", rolling("minReadySeconds: 301"), "updateStrategy.rollingUpdate.minReadySeconds"},
		{"StatefulSet", rolling("inPlaceUpdateStrategy: {gracePeriodSeconds: -1}"), "updateStrategy.rollingUpdate.inPlaceUpdateStrategy.gracePeriodSeconds"},
		{"StatefulSet", "volumeClaimUpdateStrategy: {type: Always}", "volumeClaimUpdateStrategy.type"},
		{"StatefulSet", "reserveOrdinals: [1, 3]", "reserveOrdinals"},
		{"StatefulSet", rolling("unorderedUpdate: {}"), "updateStrategy.rollingUpdate.unorderedUpdate"},
		{"StatefulSet", "lifecycle: {preDelete: {finalizersHandler: [a/b]}}", "lifecycle.preDelete"},
		{"StatefulSet", "lifecycle: {inPlaceUpdate: {markPodNotReady: true}}", "lifecycle.inPlaceUpdate"},
		{"DaemonSet", "updateStrategy: {type: Rolling}", "updateStrategy.type"},
		{"DaemonSet", rolling("rollingUpdateType: Inplace"), "updateStrategy.rollingUpdate.rollingUpdateType"},
		{"DaemonSet", rolling("rollingUpdateType: InPlaceIfPossible, maxSurge: 1"), "updateStrategy.rollingUpdate.maxSurge"}, // case ds-003
		{"DaemonSet", rolling("maxUnavailable: 1, maxSurge: 1"), "updateStrategy.rollingUpdate.maxSurge"},
		{"DaemonSet", rolling("rollingUpdateType: Surging, partition: 1"), "updateStrategy.rollingUpdate.maxSurge"},
		{"DaemonSet", rolling("partition: 120%"), "updateStrategy.rollingUpdate.partition"},
		{"DaemonSet", "lifecycle: {preDelete: {finalizersHandler: [a/b]}}", "lifecycle"},
		{"DaemonSet", "scaleStrategy: {partitionedScaling: true}", "scaleStrategy.partitionedScaling"},
	} {
		mistakes := Check(advanced(t, tt.kind, tt.spec))
		want := append([]string{"spec"}, strings.Split(tt.at, ".")...)
		if len(mistakes) != 1 || !slices.Equal(mistakes[0].Path, want) {
			t.Errorf("%s with %s: %v, want one mistake at %s", tt.kind, tt.spec, mistakes, tt.at)
		}
	}
	for _, spec := range []string{"reserveOrdinals: []", "scaleStrategy: {}", "lifecycle: {}"} {
		if mistakes := Check(advanced(t, "StatefulSet", spec)); len(mistakes) > 0 {
			t.Errorf("StatefulSet with %s: %v, want no mistake: it asks for nothing", spec, mistakes)
		}
	}
}
