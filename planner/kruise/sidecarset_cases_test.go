package kruise

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"situ.gitops/planner"
)

// setCase is one decision of testdata/inplace.yaml; the header of that file says
// what the fields mean.
type setCase struct {
	ID, Kind, UpdateType, Description, Decision string
	Containers                                  []string
	Old, New                                    struct {
		Metadata struct{ Labels map[string]string }
		Spec     map[string]any
	}
	Pod struct {
		Injected, Ready *bool
	}
	Workload map[string]any
}

// otherwise are the cases in which situ decides otherwise, and why.
var otherwise = map[string]struct{ decision, why string }{
	"ss-007": {"none", "a container with another name is another one: it comes when a pod is made anew, and nothing needs to be refused"},
	"ss-009": {"metadata-only", "the server lets the image be patched, and the pod has it from its next start on"},
	"ss-015": {"refused", "hot upgrade is refused, in whatever state"},
}

func TestSidecarSetsOfTheCaseFile(t *testing.T) {
	for _, c := range readSetCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			got, containers := decideSetCase(t, c)
			want, wanted := c.Decision, c.Containers
			if other, ok := otherwise[c.ID]; ok {
				if got == want {
					t.Errorf("decided as the case says; its difference %q is not needed any more", other.why)
				}
				want, wanted = other.decision, nil
			}
			if got != want || !slices.Equal(containers, wanted) {
				t.Errorf("%s: decided %s %v, want %s %v", c.Description, got, containers, want, wanted)
			}
		})
	}
}

func readSetCases(t *testing.T) (cases []setCase) {
	t.Helper()
	text, err := os.ReadFile("../testdata/inplace.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []setCase }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		if c.Kind == "SidecarSet" {
			cases = append(cases, c)
		}
	}
	if len(cases) != 12 {
		t.Fatalf("%d cases of SidecarSets, want 12", len(cases))
	}
	return cases
}

func decideSetCase(t *testing.T, c setCase) (decision string, containers []string) {
	t.Helper()
	from, to := setOfCase(t, c, c.Old.Spec, "old"), setOfCase(t, c, c.New.Spec, "new")
	if len(Check(from))+len(Check(to)) > 0 {
		return "refused", nil
	}
	web := meshed(t, "web", "app:v1", 3)
	_, w := decided(t, []planner.Manifest{web, from}, []planner.Manifest{web, to}, func(snap *planner.Snapshot) {
		for _, pods := range snap.Pods {
			for _, pod := range pods {
				likeCase(pod, c)
			}
		}
	})
	verb := planner.Keep
	for _, pod := range w.Pods {
		if pod.Turn > 0 {
			verb = max(verb, pod.Verb)
		}
	}
	switch verb {
	case planner.Keep:
		return "none", nil
	case planner.Metadata:
		return "metadata-only", nil
	case planner.Restart:
		return "in-place", w.Containers
	}
	return verb.String(), nil
}

// setOfCase is a set with the case's containers, as they are before or after.
func setOfCase(t *testing.T, c setCase, containers map[string]any, when string) planner.Manifest {
	t.Helper()
	m := meshSet(t, "mesh:v1", "")
	spec := m.Object["spec"].(map[string]any)
	for _, list := range []string{"containers", "initContainers"} {
		if containers[list] != nil {
			spec[list] = containers[list]
		}
	}
	spec["updateStrategy"] = map[string]any{"type": c.UpdateType}
	if patches := c.Workload["patchPodMetadata"]; patches != nil {
		spec["patchPodMetadata"] = patches
	}
	if c.Workload["canaryOf"] != nil {
		m.Object["metadata"].(map[string]any)["annotations"] = map[string]any{canaryOf: c.Workload["canaryOf"]}
	}
	state, _ := c.Workload[when].(map[string]any)
	for _, upgrade := range []any{c.Workload["upgradeType"], state["upgradeType"]} {
		if upgrade == nil {
			continue
		}
		for _, item := range spec["containers"].([]any) {
			item.(map[string]any)["upgradeStrategy"] = map[string]any{"upgradeType": upgrade}
		}
	}
	return m
}

func likeCase(pod *corev1.Pod, c setCase) {
	if c.Pod.Injected != nil && !*c.Pod.Injected {
		pod.Annotations = nil
	}
	if c.Pod.Ready != nil && !*c.Pod.Ready {
		for i := range pod.Status.Conditions {
			pod.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
}

// Of ten pods four have another definition of the container, so they wait for the
// next pod; half of all stay old by partition. OpenKruise takes the half off the
// other six (upd-ss-07), so that nine stay old; here those that wait are among the half.
func TestPodsThatWaitForTheNextOneAreAmongThePartition(t *testing.T) {
	web, strategy := meshed(t, "web", "app:v1", 10), "updateStrategy: {partition: 50%, maxUnavailable: 10}"
	_, w := decided(t, []planner.Manifest{web, meshSet(t, "mesh:v1", strategy)}, []planner.Manifest{web, meshSet(t, "mesh:v2", strategy)}, func(snap *planner.Snapshot) {
		for _, pods := range snap.Pods {
			for _, pod := range pods[:4] {
				key := planner.AnnotationSidecarSet + "mesh"
				record := HostAll([]planner.Manifest{meshSet(t, "mesh:v1", strategy)})[0].Hosting.Sidecars.Record
				record.Parts = map[string]string{"containers/mesh": "other"}
				pod.Annotations[key] = record.String()
			}
		}
	})
	if got := touched(w); len(got) != 5 {
		t.Errorf("%d pods are updated, want 5: %s", len(got), w.Budget.Text)
	}
	if !slices.ContainsFunc(w.Warnings, func(text string) bool { return strings.HasPrefix(text, "4 pods get what else changed") }) {
		t.Errorf("warnings are %q, want the 4 pods that wait", w.Warnings)
	}
}
