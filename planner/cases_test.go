package planner

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// decisionCase is one case of testdata/inplace.yaml; its header says what the fields mean.
type decisionCase struct {
	ID, Kind, APIVersion, UpdateType, Description string
	Old, New                                      map[string]any
	Decision                                      string
	Containers                                    []string
	Reason                                        string
	Pod                                           casePod
	Workload                                      map[string]any
	Effects                                       struct{ Batches [][]string }
}

type casePod struct {
	Revision, Waiting, Lifecycle string
	Ready                        *bool
	Grace                        bool
	DeletionTimestamp            bool
	LiveImages                   map[string]string
	InjectedContainers           []corev1.Container
	Barriers                     map[string]int
	Ordinal                      *int
}

// otherwise are the cases in which situ decides otherwise, and why.
var otherwise = map[string]struct{ decision, containers, why string }{
	"env-007":  {"in-place", "web", "a key that goes away changes the env as much as one that changes"},
	"env-011":  {"in-place", "web", "no feature gate and no node agent is needed: the image reference restarts the container"},
	"env-019":  {"metadata-only", "", "the same envs in another order mean the same, unless one refers to another"},
	"spec-011": {"metadata-only", "", "containers are compared by name, not by position"},
	"spec-013": {"in-place", "web", "containers are compared by name, so only the image differs"},
	"spec-015": {"in-place", "proxy", "the kubelet restarts a native sidecar in place"},
	"spec-017": {"metadata-only", "", "the server allows tolerations to be appended"},
	"spec-027": {"metadata-only", "", "the server allows a deadline to come or to get shorter; no webhook of ours forbids it"},
	"pod-013":  {"in-place", "web", "the plan says what comes of it; its first step is to ask the hook again"},
	"res-001":  {"in-place", "web", "pods/resize is served; there is no gate"},
	"res-011":  {"in-place", "web", "the server allows a limit to be added while the QoS class stays"},
	"vct-005":  {"metadata-only", "", "the plan tells that pods keep their claims, and which template they are at"},
	"sts-003":  {"in-place", "web", "no readiness gate is needed to update in place"},
	"vct-007":  {"none", "", "what cannot be done to a claim is told as a warning of the plan"},
	"type-009": {"metadata-only", "", "the server allows tolerations to be appended, so InPlaceOnly agrees"},
}

// otherBatch are the cases in which other containers go first, and why.
var otherBatch = map[string]struct{ first, why string }{
	"prio-003": {"web", "a container without a priority has priority 0, and does not jump the queue"},
}

// notRun are the cases that are not run here, and why.
var notRun = map[string]string{
	"pod-009": "grace periods are told as stories of the pod's way, with the gate and a clock",
	"pod-011": "the revision label moves with the last container, so no pod of ours is in this state; remainders are told as stories",
	"sts-005": "the server refuses it, and its own words are shown; asked of a real one elsewhere",
	"ds-007":  "as sts-005",
	"ss-":     "SidecarSets are run beside their kind, in planner/kruise",
}

func readCases(t *testing.T) (cases []decisionCase, rollouts []rolloutCase) {
	t.Helper()
	text, err := os.ReadFile("testdata/inplace.yaml")
	if err != nil {
		t.Fatal(err)
	}
	content, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	file := struct {
		Cases   []decisionCase
		Rollout []rolloutCase
	}{}
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	for i := range file.Cases { // with whole numbers as the server gives them
		file.Cases[i].Old, file.Cases[i].New = wire(file.Cases[i].Old), wire(file.Cases[i].New)
	}
	if len(file.Cases)+len(file.Rollout) != 130 {
		t.Fatalf("%d decisions and %d rollouts; want 130 cases", len(file.Cases), len(file.Rollout))
	}
	return file.Cases, file.Rollout
}

func skipped(id string) string {
	for prefix, why := range notRun {
		if id == prefix || strings.HasSuffix(prefix, "-") && strings.HasPrefix(id, prefix) {
			return why
		}
	}
	return ""
}

func TestDecisionsOfTheCaseFile(t *testing.T) {
	cases, _ := readCases(t)
	ids := map[string]bool{}
	for _, c := range cases {
		ids[c.ID] = true
		if skipped(c.ID) != "" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			plan := decideDecision(t, c)
			decision, containers := decisionOf(plan, c)
			want, wantContainers := c.Decision, c.Containers
			if other, ok := otherwise[c.ID]; ok {
				if decision == want && slices.Equal(containers, sorted(wantContainers)) {
					t.Errorf("decided as the case says; its difference %q is not needed any more", other.why)
				}
				want, wantContainers = other.decision, strings.Fields(other.containers)
			}
			if decision != want || !slices.Equal(containers, sorted(wantContainers)) {
				t.Errorf("%s: decided %s %v, want %s %v: %v", c.Description, decision, containers, want, wantContainers, plan.Workloads[0].Reasons)
			}
			if want == "recreate" && strings.HasPrefix(c.Reason, "/") && !names(plan.Workloads[0].Reasons, c.Reason) {
				t.Errorf("reasons are %v; want one at %s", plan.Workloads[0].Reasons, c.Reason)
			}
			if batches := c.Effects.Batches; len(batches) > 0 {
				checkFirstBatch(t, c.ID, firstPatched(plan), batches[0])
			}
		})
	}
	for id := range otherwise {
		if !ids[id] || skipped(id) != "" {
			t.Errorf("difference %s: there is no such case, or it is not run", id)
		}
	}
	for id := range notRun {
		if !ids[id] && !strings.HasSuffix(id, "-") {
			t.Errorf("%s is listed as not run, but there is no such case", id)
		}
	}
}

func checkFirstBatch(t *testing.T, id string, got, want []string) {
	t.Helper()
	if other, ok := otherBatch[id]; ok {
		if slices.Equal(got, sorted(want)) {
			t.Errorf("first batch as the case says; its difference %q is not needed any more", other.why)
		}
		want = []string{other.first}
	}
	if !slices.Equal(got, sorted(want)) {
		t.Errorf("the first batch is %v, want %v", got, want)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// names reports whether a reason is at the place that a JSON pointer names, or within, or around it.
func names(reasons []Reason, pointer string) bool {
	var want []string
	for _, key := range strings.Split(pointer[1:], "/") {
		if _, err := strconv.Atoi(key); err != nil {
			want = append(want, strings.ReplaceAll(key, "~1", "/"))
		}
	}
	for _, r := range reasons {
		field := r.Field
		for open := strings.IndexByte(field, '['); open >= 0; open = strings.IndexByte(field, '[') {
			end := open + strings.IndexByte(field[open:], ']')
			inside := field[open+1 : end]
			if strings.ContainsRune(inside, '/') && strings.HasSuffix(pointer, strings.ReplaceAll(inside, "/", "~1")) {
				return true // a key with a slash
			}
			field = field[:open] + field[end+1:]
		}
		got := strings.Split(field, ".")
		n := min(len(got), len(want))
		if n > 1 && slices.Equal(got[:n], want[:n]) {
			return true
		}
	}
	return false
}

// decideDecision plans the case's workload on its host.
func decideDecision(t *testing.T, c decisionCase) Plan {
	t.Helper()
	from, _ := caseManifest(c, c.Old, c.Workload["old"])
	to, mistakes := caseManifest(c, c.New, c.Workload["new"])
	if len(mistakes) > 0 {
		refused := WorkloadPlan{Verdict: Refuse, Pods: []PodPlan{{Verb: Refuse}}}
		return Plan{Workloads: []WorkloadPlan{refused}}
	}
	made := from
	if c.Pod.Revision == "new" {
		made = to
	}
	snap := Assume([]Manifest{made}, []Manifest{to})
	snap.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for owner, pods := range snap.Pods {
		for i := range pods {
			special(snap.Pods[owner][i], c)
		}
	}
	return Decide(Commit{ID: "c2", Manifests: []Manifest{to}, Policy: Policy{Pull: PullNever}}, snap)
}

// withBarriers has the launch priorities of the case's pod in the template.
func withBarriers(c decisionCase, template map[string]any) map[string]any {
	template = clone(template).(map[string]any)
	for name, priority := range c.Pod.Barriers {
		each(mapAt(template, "spec"), "containers", func(container map[string]any) {
			if container["name"] == name {
				env, _ := container["env"].([]any)
				container["env"] = append(env, map[string]any{"name": priorityEnv, "value": strconv.Itoa(priority)})
			}
		})
	}
	return template
}

func special(pod *corev1.Pod, c decisionCase) {
	p := c.Pod
	if p.Lifecycle != "" {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, LabelLifecycle, p.Lifecycle)
	}
	if p.Revision == "unknown" {
		pod.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: "gone", LabelRevision: "gone"}
	}
	if p.DeletionTimestamp {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	ready := p.Ready == nil || *p.Ready
	if unready, ok := c.Workload["unreadyOrdinals"].([]any); ok {
		ready = !slices.ContainsFunc(unready, func(n any) bool { return strings.HasSuffix(pod.Name, fmt.Sprintf("-%v", n)) })
	}
	if !ready {
		makeUnready(pod)
	}
	for i := range pod.Spec.Containers {
		if image := p.LiveImages[pod.Spec.Containers[i].Name]; image != "" {
			pod.Spec.Containers[i].Image = image
		}
	}
	pod.Spec.Containers = append(pod.Spec.Containers, p.InjectedContainers...)
	if p.Waiting != "" {
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: p.Waiting}}
	}
}

func makeUnready(pod *corev1.Pod) {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			pod.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
}

// decisionOf says in the words of the case file what a plan does to the pods now.
func decisionOf(plan Plan, c decisionCase) (string, []string) {
	w := plan.Workloads[0]
	verdict := Keep
	for _, pod := range w.Pods {
		mine := c.Pod.Ordinal == nil || strings.HasSuffix(pod.Name, fmt.Sprintf("-%d", *c.Pod.Ordinal))
		if mine && (pod.Turn == 1 || c.Pod.Ordinal == nil && pod.Turn > 0 || pod.Verb == Refuse) {
			verdict = max(verdict, pod.Verb)
		}
	}
	if verdict == Metadata && len(w.Reasons) == 0 {
		verdict = Keep // only the label of its revision moves on
	}
	switch verdict {
	case Keep:
		return "none", nil
	case Metadata:
		return "metadata-only", nil
	case Resize, Restart:
		containers := slices.Clone(w.Containers)
		for _, r := range w.Reasons {
			if _, rest, ok := strings.Cut(r.Field, "ontainers["); ok && strings.HasPrefix(r.Rule, "resize") {
				containers = append(containers, rest[:strings.IndexByte(rest, ']')])
			}
		}
		return "in-place", slices.Compact(sorted(containers))
	case Recreate:
		return "recreate", nil
	}
	return "refused", nil
}

// firstPatched are the containers that the first patch of a pod restarts.
func firstPatched(plan Plan) []string {
	for _, step := range plan.Workloads[0].Steps {
		for _, a := range step {
			if a.Ref.Kind != "Pod" || a.DryRun || a.Subresource != "" {
				continue
			}
			var names []string
			each(mapAt(a.Body.(map[string]any), "spec"), "containers", func(c map[string]any) { names = append(names, c["name"].(string)) })
			return sorted(names)
		}
	}
	return nil
}
