package kruise

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"situ.gitops/planner"
)

// advancedCase is one decision of testdata/inplace.yaml; the header
// of that file says what the fields mean.
type advancedCase struct {
	ID, Kind, UpdateType, Description, Decision string
	Containers                                  []string
	Old, New                                    map[string]any
	Workload                                    map[string]any
	Pod                                         struct {
		Revision          string
		Ordinal           *int
		DeletionTimestamp bool
	}
}

// advancedOtherwise are the cases in which situ decides otherwise, and why.
var advancedOtherwise = map[string]struct{ decision, why string }{
	"vct-007": {"none", "what a stock StatefulSet cannot get is told in the plan; the rest of a commit goes on"},
	"sts-003": {"in-place", "no readiness gate is needed to update in place"},
}

// byTheServer are refused by the server, whose own words are shown.
var byTheServer = []string{"sts-005", "ds-007"}

func TestAdvancedKindsOfTheCaseFile(t *testing.T) {
	ran := 0
	for _, c := range readAdvancedCases(t) {
		if slices.Contains(byTheServer, c.ID) || c.ID == "pod-011" { // which no pod of ours can be in
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			got, containers := decideAdvancedCase(t, c)
			want := c.Decision
			if other, ok := advancedOtherwise[c.ID]; ok {
				if got == want {
					t.Errorf("decided as the case says; its difference %q is not needed any more", other.why)
				}
				want = other.decision
			}
			if got != want {
				t.Errorf("%s: decided %s, want %s", c.Description, got, want)
			}
			if got == "in-place" && !strings.HasPrefix(c.ID, "res-") && !slices.Equal(containers, []string{"web"}) {
				t.Errorf("%s: %v restart, want web", c.Description, containers)
			}
		})
	}
	if ran != 19 {
		t.Errorf("%d cases were run, want 19", ran)
	}
}

func readAdvancedCases(t *testing.T) (cases []advancedCase) {
	t.Helper()
	text, err := os.ReadFile("../testdata/inplace.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []advancedCase }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(file.Cases, func(c advancedCase) bool { return c.Kind != "StatefulSet" && c.Kind != "DaemonSet" })
}

// manifest is the case's workload, before or after.
func (c advancedCase) manifest(template map[string]any, when string) planner.Manifest {
	rolling := map[string]any{}
	strategy := map[string]any{"rollingUpdate": rolling}
	switch {
	case c.UpdateType == onDelete:
		strategy = map[string]any{"type": onDelete}
	case c.Kind == "DaemonSet":
		rolling["rollingUpdateType"] = c.UpdateType
	default:
		rolling["podUpdatePolicy"] = c.UpdateType
	}
	maps.Copy(rolling, keep(c.Workload, "maxUnavailable", "maxSurge", "paused"))
	spec := map[string]any{"template": template, "selector": map[string]any{"matchLabels": mapAt(template, "metadata", "labels")}, "updateStrategy": strategy}
	if c.Kind == "StatefulSet" {
		spec["replicas"] = int64(3)
	}
	maps.Copy(spec, keep(c.Workload, "podManagementPolicy"))
	maps.Copy(spec, keep(mapAt(c.Workload, when), "volumeClaimTemplates"))
	if update := c.Workload["volumeClaimUpdateStrategy"]; update != nil {
		spec["volumeClaimUpdateStrategy"] = map[string]any{"type": update}
	}
	ref := planner.Ref{APIVersion: "apps.kruise.io/v1beta1", Kind: c.Kind, Namespace: "shop", Name: "harbor"}
	return planner.Manifest{Ref: ref, Object: map[string]any{
		"apiVersion": ref.APIVersion, "kind": ref.Kind, "spec": spec, "metadata": map[string]any{"name": "harbor", "namespace": "shop"},
	}}
}

func decideAdvancedCase(t *testing.T, c advancedCase) (decision string, containers []string) {
	t.Helper()
	from, to := c.manifest(c.Old, "old"), c.manifest(c.New, "new")
	if len(Check(to)) > 0 {
		return "refused", nil
	}
	from, to = Host(from)[0], Host(to)[0]
	snap := planner.Assume([]planner.Manifest{from}, []planner.Manifest{to})
	snap.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, pods := range snap.Pods {
		for _, pod := range pods {
			c.shape(pod)
		}
	}
	commit := planner.Commit{ID: "c2", Manifests: []planner.Manifest{to}, Policy: planner.Policy{Pull: planner.PullNever}}
	w := planner.Decide(commit, snap).Workloads[0]
	verb := planner.Keep
	for _, pod := range w.Pods {
		mine := c.Pod.Ordinal == nil || strings.HasSuffix(pod.Name, fmt.Sprintf("-%d", *c.Pod.Ordinal))
		if mine && (pod.Turn == 1 || c.Pod.Ordinal == nil && pod.Turn > 0 || pod.Verb == planner.Refuse) {
			verb = max(verb, pod.Verb)
		}
	}
	switch verb {
	case planner.Keep:
		return "none", nil
	case planner.Metadata:
		return "metadata-only", nil
	case planner.Restart, planner.Resize:
		return "in-place", w.Containers
	case planner.Refuse:
		return "refused", nil
	}
	return verb.String(), nil
}

// shape makes a pod what the case says of it.
func (c advancedCase) shape(pod *corev1.Pod) {
	if c.Pod.Revision == "unknown" {
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "gone"
	}
	if c.Pod.DeletionTimestamp {
		pod.DeletionTimestamp = &metav1.Time{}
	}
	unready, _ := c.Workload["unreadyOrdinals"].([]any)
	for _, n := range unready {
		if strings.HasSuffix(pod.Name, fmt.Sprintf("-%v", n)) {
			for i := range pod.Status.Conditions {
				pod.Status.Conditions[i].Status = corev1.ConditionFalse
			}
		}
	}
}

// TestReservedOrdinalsAreRefused: no count of the case file is made with them.
func TestReservedOrdinalsAreRefused(t *testing.T) {
	for _, id := range []string{"upd-st-01", "ord-st-01"} { // both reserve these
		if mistakes := Check(advanced(t, "StatefulSet", "replicas: 4\nreserveOrdinals: [1, 3]")); len(mistakes) != 1 || !strings.Contains(mistakes[0].Text, "ordinals.start") {
			t.Errorf("%s: %v, want a refusal with the way out", id, mistakes)
		}
	}
}
