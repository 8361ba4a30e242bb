package kruise

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"situ.gitops/planner"
)

func read(t *testing.T, text string) planner.Manifest {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	var object map[string]any
	if err := yaml.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &m); err != nil {
		t.Fatal(err)
	}
	return planner.Manifest{Object: object, Ref: planner.Ref{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}}
}

// meshSet is a SidecarSet of pods labelled mesh=on; spec is added to its fields.
func meshSet(t *testing.T, image, spec string) planner.Manifest {
	t.Helper()
	return read(t, fmt.Sprintf(`
apiVersion: apps.kruise.io/v1alpha1
kind: SidecarSet
metadata: {name: mesh}
spec:
  selector: {matchLabels: {mesh: "on"}}
  containers: [{name: mesh, image: "%s"}]
  %s
`, image, spec))
}

func meshed(t *testing.T, name, image string, replicas int) planner.Manifest {
	t.Helper()
	return read(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: %[1]s, namespace: shop}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s, mesh: "on"}}
    spec: {containers: [{name: app, image: "%[2]s"}]}
`, name, image, replicas))
}

// decided is the plan of a set that had been there, and its workload plan.
func decided(t *testing.T, from, to []planner.Manifest, change func(*planner.Snapshot)) (planner.Plan, planner.WorkloadPlan) {
	t.Helper()
	from, to = HostAll(from), HostAll(to)
	snap := planner.Assume(from, to)
	snap.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	if change != nil {
		change(&snap)
	}
	plan := planner.Decide(planner.Commit{ID: "c2", Manifests: to, Policy: planner.Policy{Pull: planner.PullNever}}, snap)
	i := slices.IndexFunc(plan.Workloads, func(w planner.WorkloadPlan) bool { return w.Kind == "SidecarSet" })
	if i < 0 {
		t.Fatal("the set is not planned")
	}
	return plan, plan.Workloads[i]
}

// touched are the pods that a plan patches now.
func touched(w planner.WorkloadPlan) []string {
	var names []string
	for _, step := range w.Steps {
		for _, action := range step {
			if action.Ref.Kind == "Pod" && !action.DryRun {
				names = append(names, action.Ref.Name)
			}
		}
	}
	return names
}

func TestASidecarSetUpdatesAsManyPodsAsItsStrategySays(t *testing.T) {
	for _, tt := range []struct {
		name, strategy string
		now            int
		state          planner.State
		text           string
	}{
		{"one at a time", "", 1, planner.Progressing, ""},
		{"three at a time", "maxUnavailable: 3", 3, planner.Progressing, ""},
		{"half, rounded down", "maxUnavailable: 50%", 2, planner.Progressing, ""},
		{"all but the partition", "maxUnavailable: 5, partition: 60%", 2, planner.Progressing, ""},
		{"none above the partition", "partition: 5", 0, planner.Held, "kept by partition"},
		{"paused", "paused: true", 0, planner.Held, "paused"},
		{"not at all", "type: NotUpdate", 0, planner.Held, "NotUpdate"},
		{"those that are selected", "maxUnavailable: 5, selector: {matchLabels: {app: web}}", 5, planner.Progressing, ""},
		{"none is selected", "selector: {matchLabels: {app: db}}", 0, planner.Held, "not selected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := meshed(t, "web", "app:v1", 5)
			strategy := "updateStrategy: {" + tt.strategy + "}"
			_, w := decided(t, []planner.Manifest{web, meshSet(t, "mesh:v1", strategy)}, []planner.Manifest{web, meshSet(t, "mesh:v2", strategy)}, nil)
			if got := touched(w); len(got) != tt.now || w.State != tt.state || !strings.Contains(w.Text, tt.text) {
				t.Errorf("%s (%s), %d pods now; want %s, %d: %s", w.State, w.Text, len(got), tt.state, tt.now, w.Budget.Text)
			}
			if tt.now > 0 && !slices.Equal(w.Containers, []string{"mesh"}) {
				t.Errorf("restarts %v, want the sidecar alone", w.Containers)
			}
		})
	}
}

// The pods' own workload goes first, and a PodDisruptionBudget binds a set, too.
func TestASidecarSetWaitsForOthers(t *testing.T) {
	web, set := meshed(t, "web", "app:v1", 4), meshSet(t, "mesh:v1", "updateStrategy: {maxUnavailable: 4}")
	newSet := meshSet(t, "mesh:v2", "updateStrategy: {maxUnavailable: 4}")
	_, w := decided(t, []planner.Manifest{web, set}, []planner.Manifest{newSet, meshed(t, "web", "app:v2", 4)}, nil)
	if got := touched(w); len(got) > 0 || w.State != planner.Progressing || w.Text != "after the update of replicaset/web in shop" {
		t.Errorf("%s: %s, touches %v; want none before their workload is done with them", w.State, w.Text, got)
	}
	_, w = decided(t, []planner.Manifest{web, set}, []planner.Manifest{newSet, web}, func(snap *planner.Snapshot) {
		for _, pods := range snap.Pods { // patched by its workload, and it does not show yet
			mark := planner.Mark{Version: 1, At: snap.Now, Restart: map[string]string{"app": "assumed://app"}, Was: map[string]string{"app": "app:v0"}}
			text, _ := json.Marshal(mark)
			metav1.SetMetaDataAnnotation(&pods[0].ObjectMeta, planner.AnnotationState, string(text))
		}
	})
	if got := touched(w); len(got) > 0 {
		t.Errorf("touches %v; want none while a pod of their workload restarts", got)
	}
	_, w = decided(t, []planner.Manifest{web, set}, []planner.Manifest{newSet, web}, func(snap *planner.Snapshot) {
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}, MaxUnavailable: &intstr.IntOrString{IntVal: 1}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, ExpectedPods: 4, DesiredHealthy: 3},
		}
		snap.Disruptions = map[string][]*policyv1.PodDisruptionBudget{"shop": {budget}}
	})
	if got := touched(w); len(got) != 1 {
		t.Errorf("touches %v, want the one pod that the PodDisruptionBudget allows", got)
	}
}

// What a set has restarted is unavailable for the pods' own workload as well, from
// the patch on, and for as long as the set says so.
func TestASidecarThatRestartsCountsForItsWorkload(t *testing.T) {
	web, set := meshed(t, "web", "app:v1", 4), meshSet(t, "mesh:v1", "")
	newWeb := meshed(t, "web", "app:v2", 4)
	plan, _ := decided(t, []planner.Manifest{web, set}, []planner.Manifest{newWeb, set}, func(snap *planner.Snapshot) {
		for _, pods := range snap.Pods {
			record := HostAll([]planner.Manifest{set})[0].Hosting.Sidecars.Record
			record.Update = &planner.Mark{Version: 1, At: snap.Now, Restart: map[string]string{"mesh": "assumed://mesh"}, Was: map[string]string{"mesh": "mesh:v0"}}
			pods[0].Annotations[planner.AnnotationSidecarSet+"mesh"] = record.String()
		}
	})
	w := plan.Workloads[0]
	if w.Budget.Unavailable != 1 {
		t.Errorf("budget: %s; want the pod with the restarting sidecar to count", w.Budget.Text)
	}
}

func TestPodsWithoutTheContainersAreNamed(t *testing.T) {
	web, set := meshed(t, "web", "app:v1", 2), meshSet(t, "mesh:v1", "")
	own := read(t, `
apiVersion: v1
kind: Pod
metadata: {name: own, namespace: shop, labels: {mesh: "on"}}
spec: {containers: [{name: mesh, image: "mine:v1"}]}
`)
	_, w := decided(t, []planner.Manifest{web, own}, []planner.Manifest{web, own, set}, func(snap *planner.Snapshot) {
		for _, m := range HostAll([]planner.Manifest{set}) { // it has come meanwhile
			snap.Live[m.Ref] = planner.Live{Object: snap.Proofs[m.Ref].Object}
		}
	})
	if w.State != planner.Held || len(w.Warnings) != 1 || !strings.Contains(w.Warnings[0], "3 pods do not have the containers") ||
		!strings.Contains(w.Warnings[0], "shop/own, shop/web-0, shop/web-1") {
		t.Errorf("%s, warnings %q; want the pods that have no containers", w.State, w.Warnings)
	}
	if text := w.Pods[0].Text; !strings.Contains(text, "of its own") {
		t.Errorf("of the pod with a container of that name is told %q", text)
	}
}

// A workload makes no pods before the set that it needs is in force.
func TestNewPodsWaitForANewSet(t *testing.T) {
	web, set := meshed(t, "web", "app:v1", 2), meshSet(t, "mesh:v1", "")
	for _, tt := range []struct {
		name  string
		age   time.Duration // of the policy
		waits bool
	}{{"not there", 0, true}, {"young", time.Second, true}, {"old", time.Minute, false}, {"by a clock that is wrong", -time.Hour, false}} {
		t.Run(tt.name, func(t *testing.T) {
			plan, _ := decided(t, nil, []planner.Manifest{web, set}, func(snap *planner.Snapshot) {
				for _, m := range HostAll([]planner.Manifest{set}) {
					if tt.age != 0 {
						object := snap.Proofs[m.Ref].Object.DeepCopy()
						object.SetCreationTimestamp(metav1.NewTime(snap.Now.Add(-tt.age)))
						snap.Live[m.Ref] = planner.Live{Object: object}
					}
				}
			})
			if waits := len(plan.Workloads[0].Steps) == 0; waits != tt.waits {
				t.Errorf("the workload waits: %t, want %t: %s", waits, tt.waits, plan.Workloads[0].Text)
			}
			if tt.waits && plan.Wake.IsZero() {
				t.Error("nobody looks again")
			}
		})
	}
}

// A bare pod's text is compared without what sets have given the pod.
func TestABarePodIsNotRecreatedForASet(t *testing.T) {
	pod := read(t, `
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: shop, labels: {mesh: "on"}}
spec: {containers: [{name: app, image: "app:v1"}]}
`)
	set, newSet := meshSet(t, "mesh:v1", ""), meshSet(t, "mesh:v2", "volumes: [{name: logs, emptyDir: {}}]")
	plan, w := decided(t, []planner.Manifest{pod, set}, []planner.Manifest{pod, newSet}, func(snap *planner.Snapshot) {
		proof := snap.Proofs[pod.Ref].Object.DeepCopy() // a dry run, to which the new set has given its containers
		proof.SetAnnotations(map[string]string{planner.AnnotationSidecarSet + "mesh": HostAll([]planner.Manifest{newSet})[0].Hosting.Sidecars.Record.String()})
		spec := proof.Object["spec"].(map[string]any)
		spec["containers"] = append(spec["containers"].([]any), map[string]any{"name": "mesh", "image": "mesh:v2"})
		spec["volumes"] = []any{map[string]any{"name": "logs", "emptyDir": map[string]any{}}}
		snap.Proofs[pod.Ref] = planner.Proof{Object: proof}
	})
	if plan.Workloads[0].Verdict != planner.Keep {
		t.Errorf("the pod's own plan is %s: %v", plan.Workloads[0].Verdict, plan.Workloads[0].Reasons)
	}
	if w.Verdict != planner.Restart {
		t.Errorf("the set's plan is %s, want its image in place: %v", w.Verdict, w.Reasons)
	}
}

// Somebody's own policy of the set's name is not overwritten.
func TestAPolicyOfSomebodyElseStays(t *testing.T) {
	web, set := meshed(t, "web", "app:v1", 1), meshSet(t, "mesh:v1", "")
	plan, w := decided(t, []planner.Manifest{web, set}, []planner.Manifest{web, meshSet(t, "mesh:v2", "")}, func(snap *planner.Snapshot) {
		for ref, live := range snap.Live {
			if strings.HasPrefix(ref.Kind, "MutatingAdmissionPolicy") {
				live.Object.SetAnnotations(nil)
			}
		}
	})
	if w.State != planner.Failed || len(w.Steps) > 0 || !strings.Contains(w.Text, "give sidecarset/mesh another name") {
		t.Errorf("the set is %s: %s, with %d steps", w.State, w.Text, len(w.Steps))
	}
	for _, o := range plan.Objects {
		if o.Verb != planner.RefuseObject || len(o.Steps) > 0 {
			t.Errorf("%s: %s, want it refused", o.Ref, o.Verb)
		}
	}
}

// Pods that OpenKruise has given the containers to get images in place, and a
// record from then on.
func TestPodsOfOpenKruiseAreAdopted(t *testing.T) {
	web, set, newSet := meshed(t, "web", "app:v1", 1), meshSet(t, "mesh:v1", ""), meshSet(t, "mesh:v2", "")
	_, w := decided(t, []planner.Manifest{web, set}, []planner.Manifest{web, newSet}, func(snap *planner.Snapshot) {
		for _, pods := range snap.Pods {
			pods[0].Annotations = map[string]string{planner.AnnotationKruiseInjected: "other,mesh"}
		}
	})
	if w.Verdict != planner.Restart || len(touched(w)) != 1 {
		t.Fatalf("%s: %s, touches %v; want the image in place", w.Verdict, w.Text, touched(w))
	}
	last := w.Steps[len(w.Steps)-1]
	record := last[0].Body.(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)[planner.AnnotationSidecarSet+"mesh"]
	if text, _ := record.(string); !strings.Contains(text, `"mesh:v2"`) {
		t.Errorf("the pod is to remember %v", record)
	}
}

// A broken sidecar stops the rollout of its set; a broken app does not.
func TestOnlyABrokenSidecarStopsItsSet(t *testing.T) {
	web, set := meshed(t, "web", "app:v1", 3), meshSet(t, "mesh:v2", "")
	for container, want := range map[string]planner.State{"mesh": planner.Failed, "app": planner.Settled} {
		t.Run(container, func(t *testing.T) {
			_, w := decided(t, []planner.Manifest{web, set}, []planner.Manifest{web, set}, func(snap *planner.Snapshot) {
				for _, pods := range snap.Pods {
					breakContainer(pods[1], container)
				}
			})
			if w.State != want {
				t.Errorf("%s: %s, want %s", w.State, w.Text, want)
			}
		})
	}
}

func breakContainer(pod *corev1.Pod, name string) {
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Name == name {
			status.Ready, status.State = false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		}
	}
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].Status = corev1.ConditionFalse
	}
}

func TestMistakesInASidecarSet(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"hot upgrade", "containers: [{name: a, image: b, upgradeStrategy: {upgradeType: HotUpgrade}}]", "HotUpgrade, which is not supported"},
		{"a device that an init container shares", "initContainers: [{name: a, image: b, shareVolumeDevicePolicy: {type: enabled}}]", "name the device in volumeDevices"},
		{"an earlier revision", "injectionStrategy: {revision: {customVersion: one}}", "revert the commit"},
		{"no selector", "selector: {}", "spec.selector is missing or empty"},
		{"no containers", "containers: []", "spec.containers is missing or empty"},
		{"no image", "containers: [{name: a}]", "image is missing"},
		{"a mount of no volume", "containers: [{name: a, image: b, volumeMounts: [{name: c, mountPath: /d}]}]", "is no volume of spec.volumes"},
		{"a path twice", "volumes: [{name: c}], containers: [{name: a, image: b, volumeMounts: [{name: c, mountPath: /d}, {name: c, mountPath: /d}]}]", "of another mount"},
		{"a name twice", "initContainers: [{name: mesh, image: b}]", "is the name of another container"},
		{"an env of nobody", "containers: [{name: a, image: b, transferEnv: [{envName: X}]}]", "names no container"},
		{"the name of the pod", "containers: [{name: a, image: b, transferEnv: [{envName: X, sourceContainerNameFrom: {fieldRef: {fieldPath: metadata.name}}}]}]", "names no container"},
		{"patches of JSON", "patchPodMetadata: [{annotations: {a: b}, patchPolicy: MergePatchJson}]", "write the whole value"},
		{"records of situ", "patchPodMetadata: [{annotations: {situ.gitops/state: b}}]", "written by situ itself"},
		{"names and labels of namespaces", "namespaceSelector: {namespaces: [a], matchLabels: {b: c}}", "keep one of the two"},
		{"a namespace that is left alone", "namespace: kube-system", "kube-system, where pods never get containers"},
		{"a partition of a selection", "updateStrategy: {partition: 1, selector: {matchLabels: {a: b}}}", "keep one of the two"},
		{"an unknown type", "updateStrategy: {type: Sometimes}", "want RollingUpdate or NotUpdate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := meshSet(t, "mesh:v1", "")
			more := read(t, "spec: {"+tt.spec+"}").Object["spec"].(map[string]any)
			for key, value := range more {
				m.Object["spec"].(map[string]any)[key] = value
			}
			var texts []string
			for _, mistake := range Check(m) {
				texts = append(texts, strings.Join(mistake.Path, ".")+" "+mistake.Text)
			}
			if len(texts) != 1 || !strings.Contains(texts[0], tt.want) {
				t.Errorf("mistakes are %q, want one with %q", texts, tt.want)
			}
		})
	}
}
