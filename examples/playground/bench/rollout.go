package bench

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"situ.gitops/examples/playground/gitserver"
)

// situResult is one commit of a new image.
type situResult struct {
	running time.Duration // from the commit seen until every pod ran the image and was ready
	settled time.Duration // from the commit seen until situ called it settled
	count   count         // what it cost
}

// rollouts is what was measured with one fleet.
type rollouts struct {
	fleet fleet
	raw   []rawResult
	situ  []situResult
}

func (b *bench) plainRollout(ctx context.Context) error {
	f := fleet{namespace: "bench", pods: b.Pods, workloads: b.Workloads}
	repository, r, err := b.rollout(ctx, f)
	if err != nil {
		return err
	}
	b.report.rollout("rollout", r, rolloutTarget)
	return b.settled(ctx, repository, f)
}

func (b *bench) gatedRollout(ctx context.Context) error {
	_, r, err := b.rollout(ctx, fleet{namespace: "bench-gate", pods: b.Pods, workloads: b.Workloads, gate: true})
	if err != nil {
		return err
	}
	b.report.rollout("rollout with readiness gate", r, gateTarget)
	return nil
}

// rollout measures the raw limit and situ in turns, on the same pods.
func (b *bench) rollout(ctx context.Context, f fleet) (*gitserver.Repository, rollouts, error) {
	results := rollouts{fleet: f}
	repository, err := b.ground.server.Create(ctx, f.namespace, "")
	if err != nil {
		return nil, results, err
	}
	client := b.cluster.Client()
	patcher, err := metadata.NewForConfig(b.cluster.Config())
	if err != nil {
		return nil, results, err
	}
	o, err := observe(ctx, client, f.namespace)
	if err != nil {
		return nil, results, err
	}
	defer o.stop()
	b.say("%s: situ creates %d pods in %d Deployments ...", f.namespace, f.pods, f.workloads)
	at := o.expect(f.pods, image("v1"))
	if _, err := b.commit(ctx, repository, f, "v1", nil); err != nil {
		return nil, results, err
	}
	if _, err := o.await(ctx, at); err != nil {
		return nil, results, err
	}
	for i := range b.Repeat {
		now, next := fmt.Sprintf("v%d", i+1), fmt.Sprintf("v%d", i+2)
		for _, version := range []string{fmt.Sprintf("raw%d", i+1), now} { // there and back again
			if err := b.quiet(ctx, client, f); err != nil {
				return nil, results, err
			}
			measured, err := raw(ctx, patcher, o, f.namespace, image(version))
			if err != nil {
				return nil, results, err
			}
			b.say("%s: raw patches %s, all running %s", f.namespace, short(measured.written), short(measured.running))
			results.raw = append(results.raw, measured)
		}
		if err := b.quiet(ctx, client, f); err != nil {
			return nil, results, err
		}
		measured, err := b.commit(ctx, repository, f, next, o)
		if err != nil {
			return nil, results, err
		}
		b.say("%s: situ, all running %s, settled %s", f.namespace, short(measured.running), short(measured.settled))
		results.situ = append(results.situ, measured)
	}
	return repository, results, nil
}

// commit lets a fresh situ serve bring a version of the fleet into the cluster.
// With an observer it first settles on what is there, so that its caches are
// filled, and is measured from the new commit on.
func (b *bench) commit(ctx context.Context, repository *gitserver.Repository, f fleet, version string, o *observer) (situResult, error) {
	var result situResult
	head, err := repository.Git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return result, err
	}
	if o == nil {
		if head, err = repository.Commit(ctx, version, f.files(version)); err != nil {
			return result, err
		}
	}
	serve, err := b.follow(ctx, f.namespace)
	if err != nil {
		return result, err
	}
	defer serve.close()
	if _, _, err := serve.settled(ctx, head); err != nil || o == nil {
		return result, err
	}
	before, err := b.count(ctx, serve)
	if err != nil {
		return result, err
	}
	pods := o.pods()
	at := o.expect(f.pods, image(version))
	if head, err = repository.Commit(ctx, version, f.files(version)); err != nil {
		return result, err
	}
	running, err := o.await(ctx, at)
	if err != nil {
		return result, serve.failure(err.Error())
	}
	seen, settled, err := serve.settled(ctx, head)
	if err != nil {
		return result, err
	}
	if !maps.Equal(pods, o.pods()) {
		return result, fmt.Errorf("pods of %s were replaced: there is nothing to compare", f.namespace)
	}
	after, err := b.count(ctx, serve)
	return situResult{running: running.Sub(seen), settled: settled.Sub(seen), count: after.since(before)}, err
}

// quiet waits until the controllers have taken in what happened before.
func (b *bench) quiet(ctx context.Context, client kubernetes.Interface, f fleet) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the Deployments of %s are not available within %s", f.namespace, patience))
	defer cancel()
	for {
		list, err := client.AppsV1().Deployments(f.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for _, d := range list.Items {
			if d.Status.ObservedGeneration == d.Generation {
				ready += int(d.Status.AvailableReplicas)
			}
		}
		if ready == f.pods {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
