package chaos

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"situ.gitops/planner"
)

// kinds are the workloads; a sequence has one of them.
var kinds = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod"}

// wish is what a commit wants of the workload. It is a plain value: a revert
// wishes for an earlier one again.
type wish struct {
	kind      string
	replicas  int
	free      bool   // Git leaves the replicas to others
	app, side string // tags of the two containers' images
	tier      string // a label
	note      string // an annotation that nobody reads
	config    string // an annotation that app reads into its env
	flag      string // an env of app
	cpu       int    // that app asks for, in millis
	partition int    // pods that stay as they are
	manner    manner // never changes
}

// manner is how a workload wants to be updated.
type manner struct {
	gate     bool // traffic leaves a pod first, for as long as the grace period takes
	minReady int  // seconds until a ready pod is available
	revert   bool // an update that fails is taken back
	restart  bool // a container restarts when its cpu changes
}

func firstWish(kind string, m manner) wish {
	return wish{kind: kind, manner: m, replicas: 4, app: "v0", side: "v0", tier: "t0", note: "n0", config: "c0", flag: "f0", cpu: 100}
}

// desired is how many pods there should be.
func (w wish) desired() int {
	switch w.kind {
	case "DaemonSet":
		return nodesPerStage
	case "Pod":
		return 1
	}
	return w.replicas
}

// budget is how many of them may be unavailable, as the manifest has it or as
// the kind promises by default.
func (w wish) budget() int {
	if w.kind == "Deployment" {
		return 2
	}
	return 1
}

// images are what the containers have to run.
func (w wish) images() map[string]string {
	return map[string]string{"app": "registry.example/app:" + w.app, "side": "registry.example/side:" + w.side}
}

// starts says whether its pods can come up at all.
func (w wish) starts() bool { return startable(w.app) && startable(w.side) }

// startable says whether a container can come up with an image, or a tag.
func startable(image string) bool {
	return !strings.Contains(image, "missing") && !strings.Contains(image, "crash")
}

// manifest is the wish as Git has it. Pods go to the stage's own nodes, and leave
// one that is lost at once.
func (w wish) manifest(nodes []string) string {
	if w.kind == "Pod" {
		return w.barePod(nodes)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: apps/v1\nkind: %s\nmetadata:\n  name: web\n  annotations: {%s}\n", w.kind, w.annotations())
	fmt.Fprintf(&b, "spec:\n  selector: {matchLabels: {app: web}}\n  minReadySeconds: %d\n", w.manner.minReady)
	if w.kind != "DaemonSet" && !w.free {
		fmt.Fprintf(&b, "  replicas: %d\n", w.replicas)
	}
	switch w.kind {
	case "Deployment":
		b.WriteString("  strategy: {rollingUpdate: {maxUnavailable: 2, maxSurge: 1}}\n")
	case "StatefulSet":
		fmt.Fprintf(&b, "  serviceName: web\n  updateStrategy: {rollingUpdate: {partition: %d}}\n", w.partition)
	}
	fmt.Fprintf(&b, "  template:\n    metadata:\n      labels: {app: web, tier: %q}\n      annotations: {note: %q, config: %q}\n    spec:\n",
		w.tier, w.note, w.config)
	for line := range strings.Lines(w.podSpec(nodes)) {
		b.WriteString("    " + line)
	}
	return b.String()
}

// barePod is the wish for a pod that nobody makes anew but situ.
func (w wish) barePod(nodes []string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels: {app: web, tier: %q}\n  annotations: {note: %q, config: %q, %s}\nspec:\n%s",
		w.tier, w.note, w.config, w.annotations(), w.podSpec(nodes))
}

func (w wish) podSpec(nodes []string) string {
	resize := corev1.NotRequired
	if w.manner.restart {
		resize = corev1.RestartContainer
	}
	gates := ""
	if w.manner.gate {
		gates = fmt.Sprintf("{conditionType: %s}", planner.GateReady)
	}
	return fmt.Sprintf(podSpec, gates, strings.Join(nodes, ", "), w.images()["app"], w.cpu, resize, w.flag, w.images()["side"])
}

// annotations are what the wish asks of situ.
func (w wish) annotations() string {
	failure := "stop"
	if w.manner.revert {
		failure = "revert"
	}
	asked := fmt.Sprintf("%s: %s", planner.AnnotationOnFailure, failure)
	if w.manner.gate {
		asked += fmt.Sprintf(", %s: 1s", planner.AnnotationGrace)
	}
	if w.partition > 0 && w.kind != "StatefulSet" {
		asked += fmt.Sprintf(", %s: %q", planner.AnnotationPartition, fmt.Sprint(w.partition))
	}
	return asked
}

const podSpec = `  terminationGracePeriodSeconds: 1
  readinessGates: [%s]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]
  tolerations:
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 1}
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1}
  containers:
  - name: app
    image: %q
    resources: {requests: {cpu: %dm, memory: 16Mi}, limits: {cpu: "2", memory: 64Mi}}
    resizePolicy: [{resourceName: cpu, restartPolicy: %s}]
    readinessProbe: {tcpSocket: {port: 80}}
    env:
    - {name: FLAG, value: %q}
    - {name: CONFIG, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['config']"}}}
  - name: side
    image: %q
    readinessProbe: {tcpSocket: {port: 81}}
`
