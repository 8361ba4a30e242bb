package stories

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/planner"
)

// hookCrashes ends situ before and after every single action that brings pods
// past their hooks and through an update in place, and starts it again: each hook
// is asked once, and each container restarts once.
func hookCrashes(t *testing.T, g *ground) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			walkTheHooks(newTeller(t, g), when)
		})
	}
}

// hookActions are those that two pods have at least, beside the pulls, the trial,
// the record and the template: prepare, close, patch, open, updated, normal.
const hookActions = 2*6 + 3

func walkTheHooks(t teller, when string) {
	const selector = "app=web"
	t.commit("the shop opens", hookManifest(0))
	t.run("situ", "sync")
	player := t.playHooks(selector)
	for n := 1; ; n++ {
		pods, err := t.pods(selector)
		check(t.T, err)
		check(t.T, t.remember(selector, pods))
		t.commit(fmt.Sprintf("app v%d", n), hookManifest(n))
		fault := fmt.Sprintf("%s:%d", when, n)
		killed := t.syncUntil(fault)
		if killed {
			t.run("situ", "sync")
		}
		if wrong := t.notKept(selector, map[string]bound{"app": {n: 1}}); len(wrong) > 0 {
			t.Fatalf("after the fault %s:\n%s", fault, strings.Join(wrong, "\n"))
		}
		for _, pod := range pods {
			if asked := player.askedSince(pod.UID); asked != 1 {
				t.Fatalf("after the fault %s: the hook of pod %s was asked %d times, want once", fault, pod.Name, asked)
			}
		}
		if normal := t.run("kubectl", "get", "pods", "-o", "name", "-l", planner.LabelLifecycle+"=Normal"); strings.Count(normal, "pod/") != len(pods) {
			t.Fatalf("after the fault %s: of %d pods only these are normal:\n%s", fault, len(pods), normal)
		}
		if !killed {
			t.Logf("%d actions", n-1)
			if n-1 < hookActions {
				t.Fatalf("the way had %d actions, want %d at least", n-1, hookActions)
			}
			return
		}
	}
}

// player is the controller that the hooks are for.
type player struct {
	teller
	mu    sync.Mutex
	asked map[types.UID]int
}

// playHooks lets go of pods that are prepared and takes updated ones back, until
// the test ends.
func (t teller) playHooks(selector string) *player {
	p := &player{teller: t, asked: map[types.UID]int{}}
	ctx, end := context.WithCancel(t.story.ctx)
	done := make(chan error, 1)
	go func() { done <- p.play(ctx, selector) }()
	t.Cleanup(func() {
		end()
		check(t.T, <-done)
	})
	return p
}

func (p *player) play(ctx context.Context, selector string) error {
	for {
		pods, err := p.pods(selector)
		for i := 0; i < len(pods) && err == nil; i++ {
			switch stage, filled := pods[i].Labels[planner.LabelLifecycle], pods[i].Labels["example.io/filled"]; {
			case stage == "PreparingUpdate" && filled == "yes":
				p.mu.Lock()
				p.asked[pods[i].UID]++
				p.mu.Unlock()
				err = p.label(ctx, pods[i].Name, "no")
			case stage == "Updated" && filled == "no":
				err = p.label(ctx, pods[i].Name, "yes")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(poll):
		}
		if err != nil {
			return fmt.Errorf("play the hooks of %s: %w", selector, err)
		}
	}
}

func (p *player) label(ctx context.Context, pod, filled string) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{"example.io/filled":%q}}}`, filled)
	_, err := p.client().CoreV1().Pods(p.namespace).Patch(ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// askedSince is how often the hook of a pod was asked since this was called last.
func (p *player) askedSince(pod types.UID) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.asked[pod]
	delete(p.asked, pod)
	return n
}

func hookManifest(n int) string {
	return fmt.Sprintf(`apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  updateStrategy: {type: InPlaceIfPossible, maxUnavailable: 1}
  lifecycle: {inPlaceUpdate: {labelsHandler: {example.io/filled: "yes"}, markPodNotReady: true}}
  template:
    metadata: {labels: {app: web, example.io/filled: "yes"}}
    spec:
      containers: [{name: app, image: 'registry.playground/app:v%d'}]
`, n)
}
