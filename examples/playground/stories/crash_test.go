package stories

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// crashes ends situ before and after every single action of a rollout, without
// warning, and starts it again: the commit settles, and no container has been
// restarted but the one that had to, once.
func crashes(t *testing.T, g *ground) {
	for _, kind := range crashKinds {
		for _, when := range []string{"before", "after"} {
			t.Run(kind.name+" "+when, func(t *testing.T) {
				t.Parallel()
				walk(newTeller(t, g), kind.on(g), when)
			})
		}
	}
}

// walk begins at the first action, and ends with the first rollout that has
// fewer actions than asked for.
func walk(t teller, kind crashKind, when string) {
	const selector = "app=web"
	t.commit("the shop opens", kind.manifest(0))
	t.run("situ", "sync")
	for n := 1; ; n++ {
		pods, err := t.pods(selector)
		check(t.T, err)
		if len(pods) != kind.pods {
			t.Fatalf("there are %d pods, want %d", len(pods), kind.pods)
		}
		check(t.T, t.remember(selector, pods))
		t.commit(fmt.Sprintf("app v%d", n), kind.manifest(n))
		fault := fmt.Sprintf("%s:%d", when, n)
		killed := t.syncUntil(fault)
		if killed {
			t.run("situ", "sync")
		}
		if wrong := t.notKept(selector, map[string]bound{"app": {n: 1}}); len(wrong) > 0 {
			t.Fatalf("after the fault %s:\n%s", fault, strings.Join(wrong, "\n"))
		}
		t.assertFinished(kind, fault)
		if !killed {
			t.Logf("%d actions", n-1)
			if n <= kind.actions {
				t.Fatalf("a rollout had %d actions, want %d at least: it patches each pod, and pulls for it", n-1, kind.actions)
			}
			return
		}
	}
}

// assertFinished wants the workload's own controller to be content, and nothing
// to be left over.
func (t teller) assertFinished(kind crashKind, fault string) {
	t.Helper()
	if kind.rollout != "" {
		t.run("kubectl", "rollout", "status", kind.rollout, "--timeout=60s")
	}
	check(t.T, t.witness.catchUp(t.story.ctx))
	worst := t.witness.worst(labels.SelectorFromSet(labels.Set{"app": "web"}), t.memories["app=web"])
	if unavailable := worst["unavailable"]; unavailable.n > 1 {
		t.Fatalf("after the fault %s: %d pods were unavailable at once:\n%s", fault, unavailable.n, unavailable.text)
	}
	if left := t.run("kubectl", "get", "pods", "-o", "name", "-l", "situ.gitops/pull"); strings.Contains(left, "pod/") {
		t.Fatalf("after the fault %s: there are still\n%s", fault, left)
	}
}

// crashKind is a workload whose rollout is walked through.
type crashKind struct {
	name    string
	rollout string // what kubectl rollout status may be asked about
	pods    int
	actions int // that a rollout has at least
	head    string
	tags    int // that the app has; 0: any number
}

// on is the kind on a ground. A real registry has three versions of the app, and
// on a real node that has them all nothing is left to pull.
func (k crashKind) on(g *ground) crashKind {
	if k.name == "DaemonSet" {
		k.pods = g.nodes
	}
	if g.real {
		k.tags, k.actions = 3, k.pods
	}
	return k
}

var crashKinds = []crashKind{
	{"Deployment", "deployment/web", 2, 6, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  strategy: {rollingUpdate: {maxUnavailable: 1}}\n", 0},
	{"StatefulSet", "statefulset/web", 2, 5, "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec:\n  replicas: 2\n  serviceName: web\n", 0},
	{"DaemonSet", "daemonset/web", 0, 6, "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: web}\nspec:\n", 0},
	{"ReplicaSet", "", 2, 4, "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web}\nspec:\n  replicas: 2\n", 0},
	{"Pod", "", 1, 2, "", 0},
}

const crashPod = `spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: app, image: 'registry.playground/app:%s'}
  - {name: side, image: 'registry.playground/sidecar:v1'}
`

// manifest is the workload with the app of one turn; each turn has another one
// than the turn before.
func (k crashKind) manifest(turn int) string {
	if k.tags > 0 {
		turn = 1 + turn%k.tags
	}
	pod := fmt.Sprintf(crashPod, fmt.Sprint("v", turn))
	if k.head == "" {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\n" + pod
	}
	indented := "    " + strings.ReplaceAll(strings.TrimSuffix(pod, "\n"), "\n", "\n    ") + "\n"
	return k.head + "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n" + indented
}
