package kruise

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"situ.gitops/planner"
)

func TestHooksOfACloneSetAreThePlannersToWaitFor(t *testing.T) {
	m := advanced(t, "CloneSet", `lifecycle:
  preDelete: {finalizersHandler: [example.io/drain]}
  inPlaceUpdate: {labelsHandler: {example.io/filled: "yes"}, markPodNotReady: true}`)
	if mistakes := Check(m); len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	host := Host(m)[0]
	want := planner.Hooks{
		BeforeDelete: &planner.Hook{Finalizers: []string{"example.io/drain"}},
		AroundUpdate: &planner.Hook{Labels: map[string]string{"example.io/filled": "yes"}, NotReady: true},
	}
	if got := host.Hosting.Settings.Hooks; !reflect.DeepEqual(got, want) {
		t.Errorf("the hooks are %+v, want %+v", got, want)
	}
	if gates := mapAt(host.Object, "spec", "template", "spec")["readinessGates"]; !strings.Contains(asJSON(t, gates), string(planner.GateReady)) {
		t.Errorf("the readiness gates are %v: no traffic can be kept away", gates)
	}
}

// A claim template is a volume that lives as long as its pod.
func TestClaimTemplatesOfACloneSetAreVolumesOfItsPods(t *testing.T) {
	m := advanced(t, "CloneSet", `volumeClaimTemplates:
- metadata: {name: data, labels: {tier: fast}, creationTimestamp: null}
  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  status: {}`)
	mapAt(m.Object, "spec", "template", "spec")["volumes"] = []any{
		map[string]any{"name": "data", "emptyDir": map[string]any{}}, map[string]any{"name": "tmp", "emptyDir": map[string]any{}},
	}
	before := asJSON(t, m.Object)
	if mistakes := Check(m); len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	got := asJSON(t, mapAt(Host(m)[0].Object, "spec", "template", "spec")["volumes"])
	const want = `[{"emptyDir":{},"name":"tmp"},{"ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"situ.gitops/claim":"data","tier":"fast"}},` +
		`"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}},"name":"data"}]`
	if got != want {
		t.Errorf("the volumes are\n%s, want\n%s", got, want)
	}
	if after := asJSON(t, m.Object); after != before {
		t.Errorf("the manifest was edited: %s, was %s", after, before)
	}
}

func TestCloneSetsAreCheckedForHowPodsComeAndGo(t *testing.T) {
	for _, tt := range []struct{ spec, at string }{
		{"updateStrategy: {rollingUpdate: {maxSurge: 120%}}", "updateStrategy.rollingUpdate.maxSurge"},
		{"updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly, maxSurge: 1}}", "updateStrategy.rollingUpdate.maxSurge"},
		{"scaleStrategy: {maxUnavailable: 1}", "scaleStrategy.maxUnavailable"},
		{"lifecycle: {inPlaceUpdate: {markPodNotReady: true}}", "lifecycle.inPlaceUpdate"},
		{"lifecycle: {preNormal: {labelsHandler: {a: b}}}", "lifecycle.preNormal"},
		{"volumeClaimTemplates: [{spec: {}}]", "volumeClaimTemplates"},
		{"volumeClaimTemplates: [{metadata: {name: a}, spec: {}}, {metadata: {name: a}, spec: {}}]", "volumeClaimTemplates"},
		{"scaleStrategy: {enablePVCReuse: true}", "scaleStrategy.enablePVCReuse"},
	} {
		mistakes := Check(advanced(t, "CloneSet", tt.spec))
		want := append([]string{"spec"}, strings.Split(tt.at, ".")...)
		if len(mistakes) != 1 || !slices.Equal(mistakes[0].Path, want) {
			t.Errorf("%s: %v, want one mistake at %s", tt.spec, mistakes, tt.at)
		}
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each pod would be deleted as soon as it is made, for ever.
func TestATemplateThatAsksForItsPodsToBeDeletedIsAMistake(t *testing.T) {
	m := advanced(t, "CloneSet", "replicas: 1")
	mapAt(m.Object, "spec", "template", "metadata", "labels")[planner.LabelDelete] = "true"
	if mistakes := Check(m); len(mistakes) != 1 || !strings.Contains(mistakes[0].Text, "label the one pod that is to go") {
		t.Errorf("Check: %v, want one mistake that says what to label", mistakes)
	}
}
