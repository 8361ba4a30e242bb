package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/gitserver"
	"situ.gitops/examples/playground/visitor"
)

// service is a workload on the real node with a Service, and a client that
// sends it requests all the time.
type service struct {
	name  string
	title string
	kind  string // its apiVersion is apps/v1
	pods  int
	gate  bool // traffic is kept away from a pod that is about to restart
}

// services are what is measured on the real node. A single pod shows what a
// client without any choice notices.
var services = []service{
	{name: "web", title: "Deployment of 4 pods, one at a time", kind: "Deployment", pods: 4},
	{name: "gate", title: "the same with the readiness gate and 3s of grace", kind: "Deployment", pods: 4, gate: true},
	{name: "single", title: "StatefulSet of 1 pod", kind: "StatefulSet", pods: 1},
}

// realResult is one commit on the real node, as the pods and as a client saw it.
type realResult struct {
	running time.Duration // from the commit seen until every pod ran the image and was ready
	account visitor.Account
}

// RunReal measures updates in place on a real node, and has the same pods
// recreated by their own controller in turns with them. The cluster has no other
// node.
func RunReal(ctx context.Context, c *cluster.Cluster, options Options) (Report, error) {
	b := &bench{Options: options, cluster: c}
	var err error
	if b.ground, err = prepare(ctx, c, options.Dir); err != nil {
		return Report{}, fmt.Errorf("prepare: %w", err)
	}
	defer b.ground.close()
	for _, s := range services {
		if err := b.real(ctx, c.Client(), s); err != nil {
			return b.report, fmt.Errorf("measure the %s on a real node: %w", s.title, err)
		}
	}
	return b.report, nil
}

// real measures one service, in a namespace and from a repository of its own.
func (b *bench) real(ctx context.Context, client kubernetes.Interface, s service) error {
	repository, err := b.ground.server.Create(ctx, s.name, "")
	if err != nil {
		return err
	}
	o, err := observe(ctx, client, s.name)
	if err != nil {
		return err
	}
	defer o.stop()
	head, err := repository.Commit(ctx, "the beginning", s.files("v1", inPlace))
	if err != nil {
		return err
	}
	serve, err := b.follow(ctx, s.name)
	if err != nil {
		return err
	}
	defer serve.close()
	if _, _, err := serve.settled(ctx, head); err != nil {
		return err
	}
	v, err := visitor.Start(ctx, client, s.name, s.name)
	if err != nil {
		return err
	}
	defer v.Close()
	results := map[way][]realResult{}
	for turn := range 2 * b.Repeat {
		// v3 and v1 recreate what v2 and, in the next turn, v2 again updates in place.
		how, version := inPlace, "v2"
		if turn%2 == 1 {
			how, version = recreated, []string{"v3", "v1"}[turn/2%2]
		}
		result, err := b.realCommit(ctx, repository, serve, o, v, s, version, how)
		if err != nil {
			return err
		}
		b.say("%s: %s, all running %s; client: %s", s.name, how, short(result.running), result.account)
		results[how] = append(results[how], result)
	}
	b.report.real(s, results[inPlace], results[recreated])
	return nil
}

// realCommit pushes one version and waits until it is settled.
func (b *bench) realCommit(ctx context.Context, repository *gitserver.Repository, serve *follower, o *observer, v *visitor.Visitor, s service, version string, how way) (realResult, error) {
	before := o.pods()
	at := o.expect(s.pods, image(version))
	began := time.Now()
	head, err := repository.Commit(ctx, version, s.files(version, how))
	if err != nil {
		return realResult{}, err
	}
	running, err := o.await(ctx, at)
	if err != nil {
		return realResult{}, errors.Join(err, serve.failure("situ"))
	}
	seen, _, err := serve.settled(ctx, head)
	if err != nil {
		return realResult{}, err
	}
	if err := v.Answered(ctx, running); err != nil {
		return realResult{}, err
	}
	kept := 0
	for _, uid := range o.runners(image(version)) {
		if before[uid] != "" {
			kept++
		}
	}
	if want := map[way]int{inPlace: s.pods}[how]; kept != want {
		return realResult{}, fmt.Errorf("%s: %d pods were kept, want %d: there is nothing to compare", how, kept, want)
	}
	return realResult{running: running.Sub(seen), account: v.Since(began)}, nil
}

// way is how pods get to another image.
type way string

const (
	inPlace   way = "in place"
	recreated way = "recreated"
)

// update is the annotation's value for a way.
func (w way) update() string {
	if w == recreated {
		return "ReCreate"
	}
	return "InPlaceIfPossible"
}

func (s service) files(version string, how way) map[string]string {
	gate := ""
	if s.gate {
		gate = "      readinessGates: [{conditionType: InPlaceUpdateReady}]\n"
	}
	// Without surge, both ways have the same budget.
	extra := "  strategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}\n"
	if s.kind == "StatefulSet" {
		extra = "  serviceName: " + s.name + "\n"
	}
	return map[string]string{"shop.yaml": fmt.Sprintf(realManifest, s.name, s.kind, how.update(), s.pods, extra, gate, image(version))}
}

// realManifest is a service's namespace, Service and workload. Its pods stop as
// soon as they are told to, so that neither way has to wait for them.
const realManifest = `apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[1]s}
spec:
  selector: {app: %[1]s}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: apps/v1
kind: %[2]s
metadata:
  name: %[1]s
  namespace: %[1]s
  annotations:
    situ.gitops/update: %[3]s
    situ.gitops/grace-period: 3s
spec:
  replicas: %[4]d
%[5]s  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 5
%[6]s      containers:
      - name: app
        image: %[7]s
        readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}
      - {name: side, image: registry.playground/sidecar:v1}
`
