package bench

import (
	"fmt"
	"strings"
)

// fleet is a namespace with Deployments that are all alike.
type fleet struct {
	namespace string
	pods      int
	workloads int
	gate      bool // the pods have situ's readiness gate
	nodes     int  // bind the pods to these simulated nodes; 0: the scheduler does
}

// replicas is how many pods a workload has; the first ones take the remainder.
func (f fleet) replicas(workload int) int {
	n := f.pods / f.workloads
	if workload < f.pods%f.workloads {
		n++
	}
	return n
}

// files are the fleet's manifests, with one version of its image.
func (f fleet) files(version string) map[string]string {
	files := map[string]string{"namespace.yaml": fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", f.namespace)}
	for i := range f.workloads {
		name, replicas := f.workload(i), f.replicas(i)
		files[name+".yaml"] = fmt.Sprintf(deployment, name, f.namespace, replicas, name, name, f.extra(i), image(version))
	}
	return files
}

func (f fleet) workload(i int) string { return fmt.Sprintf("web-%03d", i) }

func (f fleet) extra(workload int) string {
	var lines []string
	if f.gate {
		lines = append(lines, "      readinessGates: [{conditionType: InPlaceUpdateReady}]")
	}
	if f.nodes > 0 {
		lines = append(lines, fmt.Sprintf("      nodeName: sim-%d", workload%f.nodes))
	}
	lines = append(lines, "      terminationGracePeriodSeconds: 1")
	return strings.Join(lines, "\n")
}

// deployment is as long as real ones are: what situ keeps of a pod counts.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: %s
  namespace: %s
  annotations:
    situ.gitops/max-unavailable: "100%%"
spec:
  replicas: %d
  selector:
    matchLabels: {app: %s}
  template:
    metadata:
      labels: {app: %s, team: shop, tier: front}
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "8080"
    spec:
%s
      containers:
      - name: app
        image: %s
        ports:
        - {name: http, containerPort: 8080}
        env:
        - {name: APP_GREETING, value: welcome}
        - {name: APP_CURRENCY, value: EUR}
        - {name: APP_DATABASE, value: "postgres.shop.svc:5432"}
        readinessProbe:
          httpGet: {path: /, port: http}
          periodSeconds: 1
        resources:
          requests: {cpu: 10m, memory: 16Mi}
          limits: {memory: 64Mi}
      - name: sidecar
        image: registry.playground/sidecar:v1
        resources:
          requests: {cpu: 10m, memory: 16Mi}
`
