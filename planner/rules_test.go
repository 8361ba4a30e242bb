package planner

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the plans in testdata/rules")

// TestRules tells what each rule says of a change, and what is done about it.
//
//	from.yaml       what the pods were made from
//	to.yaml         what is wanted now
//	pods.yaml       what is special about the live pods, patched over healthy ones
//	snapshot.yaml   what is special about the cluster
//	plan.txt        the plan, rewritten by -update
func TestRules(t *testing.T) {
	for _, file := range ruleCases(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := renderPlan(t, decideCase(t, archive))
			if *update {
				setFile(archive, "plan.txt", got)
				if err := writeArchive(file, archive); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(fileOf(archive, "plan.txt")); got != want {
				t.Errorf("the plan is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A row that no case fires is a row that nobody has thought through.
func TestEveryRuleHasACaseThatFiresIt(t *testing.T) {
	fired := map[string]bool{}
	for _, file := range ruleCases(t) {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, reason := range decideCase(t, archive).Workloads[0].Reasons {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			if name == reason.Rule || strings.HasPrefix(name, reason.Rule+"--") {
				fired[reason.Rule] = true
			}
		}
	}
	for _, rule := range Rules() {
		if !fired[rule.ID] {
			t.Errorf("rule %s: no file testdata/rules/%s*.txtar fires it", rule.ID, rule.ID)
		}
	}
}

func TestEveryRuleSaysWhyAndSinceWhen(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range Rules() {
		if rule.Field == "" || rule.Reason == "" || rule.Since == "" || seen[rule.ID] {
			t.Errorf("rule %+v lacks a field, a reason or a version, or its id is there twice", rule)
		}
		seen[rule.ID] = true
	}
}

func ruleCases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata/rules: %v", err)
	}
	return files
}

func decideCase(t *testing.T, archive *txtar.Archive) Plan {
	t.Helper()
	from := manifest(t, string(fileOf(archive, "from.yaml")))
	to := manifest(t, string(fileOf(archive, "to.yaml")))
	snap := Assume([]Manifest{from}, []Manifest{to})
	snap.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	special := struct{ Served *Served }{}
	if err := yaml.UnmarshalStrict(fileOf(archive, "snapshot.yaml"), &special); err != nil {
		t.Fatal(err)
	}
	if special.Served != nil {
		snap.Served = *special.Served
	}
	if patch := fileOf(archive, "pods.yaml"); patch != nil {
		patchPods(t, snap, patch)
	}
	return Decide(Commit{ID: "c2", Manifests: []Manifest{to}}, snap)
}

func patchPods(t *testing.T, snap Snapshot, patch []byte) {
	t.Helper()
	text, err := yaml.YAMLToJSON(patch)
	if err != nil {
		t.Fatal(err)
	}
	for owner, pods := range snap.Pods {
		snap.Pods[owner] = slices.Clone(pods)
		for i, pod := range pods {
			snap.Pods[owner][i] = patchedPod(t, pod, text)
		}
	}
}

func patchedPod(t *testing.T, pod *corev1.Pod, patch []byte) *corev1.Pod {
	t.Helper()
	before, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, pod)
	if err != nil {
		t.Fatal(err)
	}
	patched := &corev1.Pod{}
	if err := json.Unmarshal(after, patched); err != nil {
		t.Fatal(err)
	}
	patched.UID = types.UID(string(pod.UID))
	return patched
}

func fileOf(archive *txtar.Archive, name string) []byte {
	for _, file := range archive.Files {
		if file.Name == name {
			return file.Data
		}
	}
	return nil
}

func setFile(archive *txtar.Archive, name, text string) {
	for i := range archive.Files {
		if archive.Files[i].Name == name {
			archive.Files[i].Data = []byte(text)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// renderPlan is a plan as people read it.
func renderPlan(t *testing.T, plan Plan) string {
	t.Helper()
	var b strings.Builder
	for _, w := range plan.Workloads {
		fmt.Fprintf(&b, "%s: %s %s\n", w.Ref, w.Verdict, strings.Join(w.Containers, " "))
		fmt.Fprintf(&b, "state: %s: %s\nbudget: %s\n", w.State, w.Text, w.Budget.Text)
		for _, r := range w.Reasons {
			fmt.Fprintf(&b, "%s: %s", r.Rule, r.Field)
			if r.From+r.To != "" {
				fmt.Fprintf(&b, ": %s -> %s", r.From, r.To)
			}
			fmt.Fprintf(&b, ": %s\n", r.Text)
		}
		for _, p := range w.Pods {
			fmt.Fprintf(&b, "pod %s: %s, turn %d, %s", p.Name, p.Verb, p.Turn, p.State)
			if p.Text != "" {
				fmt.Fprintf(&b, ": %s", p.Text)
			}
			b.WriteString("\n")
		}
		for _, warning := range w.Warnings {
			fmt.Fprintf(&b, "warning: %s\n", warning)
		}
		for i, step := range w.Steps {
			for _, action := range step {
				renderAction(t, &b, i+1, action)
			}
		}
	}
	return b.String()
}

func renderAction(t *testing.T, b *strings.Builder, step int, a Action) {
	t.Helper()
	fmt.Fprintf(b, "step %d: %s (%s) %s %s\n", step, a.Name, a.Mode, a.Ref, a.Subresource)
	if a.Ref.Kind != "Pod" || a.DryRun || a.Body == nil {
		return
	}
	body, err := yaml.Marshal(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		b.WriteString("  " + line)
	}
}

func writeArchive(file string, archive *txtar.Archive) error {
	return os.WriteFile(file, txtar.Format(archive), 0o644)
}
