package kruise

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/planner"
)

// updated says on a pod that a set has just patched it.
func updated(pod *corev1.Pod, set planner.Manifest, mark planner.Mark) {
	hosting := HostAll([]planner.Manifest{set})[0].Hosting.Sidecars
	record := hosting.Record
	record.Update = &mark
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, planner.AnnotationSidecarSet+hosting.Set, record.String())
}

// waiting: the container does not run, so the pod is not ready.
func waiting(pod *corev1.Pod, container, reason, message string) {
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Name == container {
			status.Ready, status.ContainerID = false, ""
			status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
		}
	}
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].Status = corev1.ConditionFalse
	}
}

// Two sets of two commits share pods. Wherever the other one stands in the plan, and
// whether or not the pods' workload is in it: what restarts for one counts for both.
func TestASetWaitsForThePodThatAnotherSetRestarts(t *testing.T) {
	web := meshed(t, "web", "app:v1", 4)
	logs := read(t, `
apiVersion: apps.kruise.io/v1alpha1
kind: SidecarSet
metadata: {name: logs}
spec:
  selector: {matchLabels: {mesh: "on"}}
  containers: [{name: logs, image: "logs:v2"}]
`)
	mesh := meshSet(t, "mesh:v2", "")
	from := HostAll([]planner.Manifest{web, meshSet(t, "mesh:v1", ""), logs})
	for name, to := range map[string][]planner.Manifest{
		"before, alone": {logs, mesh}, "after, alone": {mesh, logs}, "before": {logs, mesh, web}, "after": {web, mesh, logs},
	} {
		for _, shows := range []bool{true, false} {
			to := HostAll(to)
			snap := planner.Assume(from, to)
			for _, pods := range snap.Pods {
				updated(pods[0], logs, planner.Mark{Version: 1, At: snap.Now.Add(1), Restart: map[string]string{"logs": "assumed://logs"}, Was: map[string]string{"logs": "logs:v1"}})
				if shows {
					waiting(pods[0], "logs", "ContainerCreating", "")
				}
			}
			plan := planner.Decide(planner.Commit{ID: "c2", Manifests: to, Policy: planner.Policy{Pull: planner.PullNever}}, snap)
			for _, w := range plan.Workloads {
				for _, pod := range touched(w) {
					if pod != "web-0" {
						t.Errorf("the other set %s, shows %t: %s touches %s while web-0 restarts", name, shows, w.Ref, pod)
					}
				}
			}
		}
	}
}

// The kubelet still tells what became of the image before the one that has just been
// given to a pod which never ran.
func TestAFixOfASidecarThatCouldNotBePulledIsGivenTime(t *testing.T) {
	set := meshSet(t, "mesh:v3", "")
	all := HostAll([]planner.Manifest{meshed(t, "web", "app:v1", 3), set})
	for _, tt := range []struct {
		names string // the image in the kubelet's words
		want  planner.State
	}{{"mesh:v2", planner.Progressing}, {"mesh:v3", planner.Failed}} {
		snap := planner.Assume(all, all)
		for _, pods := range snap.Pods {
			updated(pods[0], set, planner.Mark{Version: 1, At: snap.Now, Restart: map[string]string{"mesh": ""}, Was: map[string]string{"mesh": "mesh:v2"}, Unready: true})
			waiting(pods[0], "mesh", "ImagePullBackOff", `Back-off pulling image "`+tt.names+`"`)
		}
		plan := planner.Decide(planner.Commit{ID: "c2", Manifests: all}, snap)
		for _, w := range plan.Workloads {
			if w.State != tt.want {
				t.Errorf("%s is %s (%s) while %s cannot be pulled; want %s", w.Ref, w.State, w.Text, tt.names, tt.want)
			}
		}
	}
}
