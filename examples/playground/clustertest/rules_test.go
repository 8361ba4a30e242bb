package clustertest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"situ.gitops/planner"
)

// ourOwnReasons are rows that recreate a pod although the server would take the
// patch: the reason is not the server's.
var ourOwnReasons = map[string]string{
	"env-from-metadata-no-digest": "the server takes the label or annotation; it is the kubelet that restarts nothing for it, " +
		"and without a digest there is no other name of the same image to make it",
}

// byResize are rows whose refusal is that of pods/resize. All others are asked
// for by a plain patch of the pod; so is resize-unserved, where a server without
// the subresource has nothing else to offer.
var byResize = []string{"resize-removed", "resize-init", "resize-qos", "resize-infeasible"}

// byOthers are rows about pods that somebody has written on before: the case's
// pods.yaml is what.
var byOthers = []string{"image-already"}

// neverRuns are cases whose pods no simulated node takes.
var neverRuns = map[string]string{"pod-spec--extended-resource": "no node has such a resource"}

// onClaims are cases whose pods have claims, which are bound to nothing in
// particular: no provisioner runs here.
var onClaims = []string{"claim-template", "claim-template--recreate", "pod-spec--ephemeral-volume"}

// TestTheServerAgreesWithEveryRule takes each row's own case to a running pod on
// a real API server: what the planner would send for it is accepted, and where
// the row says that only a new pod can have it, the server refuses the patch.
func TestTheServerAgreesWithEveryRule(t *testing.T) {
	for _, rule := range planner.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			p := proofOf(t, rule.ID)
			if why := ourOwnReasons[rule.ID]; why != "" {
				p.wantTaken(why)
				return
			}
			if !p.fires(rule.ID) {
				t.Fatalf("the reasons on a real cluster are %v; want %s among them", p.plan.Reasons, rule.ID)
			}
			if rule.Verdict < planner.Recreate {
				p.wantAccepted()
				return
			}
			p.wantRefused(rule.ID)
		})
	}
}

// Each case beside the rows' own must be right on a real server, too.
func TestTheServerAgreesWithEveryOtherCase(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(cases, "*--*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", cases, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if special(archive) || neverRuns[name] != "" {
			continue // about pods that no cluster gives on demand
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := proofOf(t, name)
			if p.plan.Verdict < planner.Recreate {
				p.wantAccepted()
				return
			}
			if rule := p.plan.Reasons[0].Rule; verdicts()[rule] == planner.Recreate {
				p.wantRefused(rule)
			}
		})
	}
}

// cases are the planner's own: from.yaml is what pods were made from, to.yaml
// what is wanted now.
const cases = "../../../planner/testdata/rules"

func special(archive *txtar.Archive) bool {
	return slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == "pods.yaml" || f.Name == "snapshot.yaml" })
}

func verdicts() map[string]planner.Verdict {
	found := map[string]planner.Verdict{}
	for _, rule := range planner.Rules() {
		found[rule.ID] = rule.Verdict
	}
	return found
}

// proof is a case on the real cluster: its pod runs, and the change is planned.
type proof struct {
	room
	pod      *corev1.Pod
	from, to corev1.PodTemplateSpec
	plan     planner.WorkloadPlan
}

func proofOf(t *testing.T, name string) proof {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join(cases, name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, file := range archive.Files {
		files[file.Name] = file.Data
	}
	r := newRoom(t)
	from, to := staged(t, name, files["from.yaml"]), staged(t, name, files["to.yaml"])
	before, after := r.commit(from), r.commit(to)
	if slices.Contains(onClaims, name) {
		r.volumes(4)
	}
	r.apply(before)
	p := proof{room: r, from: templateIn(t, from), to: templateIn(t, to)}
	// All of them: one without a digest yet could only be recreated.
	r.eventually("running pods", func() bool {
		seen := r.snapshot(before)
		live, exists := seen.Live[before.Manifests[0].Ref]
		if !exists {
			return false
		}
		wanted, written, _ := unstructured.NestedInt64(live.Object.Object, "spec", "replicas")
		if !written {
			wanted = 1 // a bare pod
		}
		running := int64(0)
		for _, pods := range seen.Pods {
			for _, pod := range pods {
				if pod.Status.Phase == corev1.PodRunning && pod.Status.ObservedGeneration == pod.Generation {
					p.pod = pod
					running++
				}
			}
		}
		return running == wanted
	})
	if slices.Contains(byOthers, name) {
		p.meddle(before, files["pods.yaml"])
	}
	snapshot := r.snapshot(after)
	override := struct{ Served *planner.Served }{Served: &snapshot.Served}
	if err := yaml.UnmarshalStrict(files["snapshot.yaml"], &override); err != nil {
		t.Fatal(err)
	}
	snapshot.Served = *override.Served
	after.Policy.Pull = planner.PullNever // images are not what this is about
	p.plan = planner.Decide(after, snapshot).Workloads[0]
	return p
}

// volumes are there for whoever claims one.
func (r *room) volumes(n int) {
	r.Helper()
	for i := range n {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", r.namespace, i)}}
		volume.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("4Gi")}
		volume.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/none"}
		if _, err := ground.Client().CoreV1().PersistentVolumes().Create(r.Context(), volume, metav1.CreateOptions{}); err != nil {
			r.Fatal(err)
		}
	}
}

// meddle writes on every pod of the case, and waits until situ has seen it.
func (p *proof) meddle(commit planner.Commit, patch []byte) {
	p.Helper()
	body, err := yaml.YAMLToJSON(patch)
	if err != nil {
		p.Fatal(err)
	}
	for _, pods := range p.snapshot(commit).Pods {
		for _, pod := range pods {
			written, err := ground.Client().CoreV1().Pods(p.namespace).Patch(p.Context(), pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
			if err != nil {
				p.Fatal(err)
			}
			p.eventually("situ to see pod "+pod.Name+" as it was written", func() bool {
				for _, pods := range p.snapshot(commit).Pods {
					for _, seen := range pods {
						if seen.Name == written.Name && seen.Generation == written.Generation {
							return true
						}
					}
				}
				return false
			})
		}
	}
}

// staged is a case's workload for the room. A template may not have a deadline,
// so a case of one is told with a bare pod.
func staged(t *testing.T, name string, document []byte) string {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal(document, &object); err != nil {
		t.Fatal(err)
	}
	metadata, spec := object["metadata"].(map[string]any), object["spec"].(map[string]any)
	delete(metadata, "namespace")
	if strings.Contains(name, "deadline") {
		template := spec["template"].(map[string]any)
		object = map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func templateIn(t *testing.T, document string) corev1.PodTemplateSpec {
	t.Helper()
	var workload struct {
		Kind     string
		Metadata metav1.ObjectMeta
		Spec     json.RawMessage
	}
	if err := yaml.Unmarshal([]byte(document), &workload); err != nil {
		t.Fatal(err)
	}
	var template corev1.PodTemplateSpec
	var err error
	if workload.Kind == "Pod" {
		err = json.Unmarshal(workload.Spec, &template.Spec)
	} else {
		set := struct{ Template *corev1.PodTemplateSpec }{&template}
		err = json.Unmarshal(workload.Spec, &set)
	}
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func (p proof) fires(rule string) bool {
	return slices.ContainsFunc(p.plan.Reasons, func(r planner.Reason) bool { return r.Rule == rule })
}

// wantAccepted asks the server about everything that the plan does to pods.
func (p proof) wantAccepted() {
	p.Helper()
	asked := 0
	for _, step := range p.plan.Steps {
		for _, action := range step {
			if action.Ref.Kind != "Pod" || action.Mode != planner.StrategicPatch {
				continue
			}
			action.DryRun = true
			asked++
			if err := p.Do(p.Context(), action); err != nil {
				p.Errorf("Do(%s) = %v; want it accepted", action.Text, err)
			}
		}
	}
	if asked == 0 && p.plan.Verdict > planner.Keep {
		p.Errorf("the plan patches no pod: %+v", p.plan.Steps)
	}
}

// wantRefused sends the change as anybody would who knows no rule, and wants the
// server to name a field of the pod's spec.
func (p proof) wantRefused(rule string) {
	p.Helper()
	var subresources []string
	if slices.Contains(byResize, rule) {
		subresources = []string{"resize"}
	}
	err := p.patch(p.naive(), subresources...)
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		p.Errorf("patch of the pod %s = %v; want it refused", subresources, err)
		return
	}
	if !strings.Contains(err.Error(), "spec") && !strings.Contains(err.Error(), "node") {
		p.Errorf("the refusal %q is neither about the pod's spec nor about what its node has", err)
	}
}

// wantTaken: the server has nothing against it, so the reason must be elsewhere.
func (p proof) wantTaken(why string) {
	p.Helper()
	if err := p.patch(p.naive()); err != nil {
		p.Errorf("the patch = %v; want it accepted, for %s", err, why)
	}
}

// naive is the difference of the two templates as a patch.
func (p proof) naive() []byte {
	p.Helper()
	from, errFrom := json.Marshal(p.from)
	to, errTo := json.Marshal(p.to)
	patch, err := strategicpatch.CreateTwoWayMergePatch(from, to, corev1.PodTemplateSpec{})
	if errFrom != nil || errTo != nil || err != nil {
		p.Fatal(errFrom, errTo, err)
	}
	return patch
}

func (p proof) patch(body []byte, subresources ...string) error {
	_, err := ground.Client().CoreV1().Pods(p.namespace).Patch(p.Context(), p.pod.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, subresources...)
	return err
}
