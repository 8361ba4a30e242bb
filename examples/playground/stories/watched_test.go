package stories

import (
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// watched wants bounds to hold for the worst instant since pods were remembered.
//
//	unavailable   remembered pods, or their replacements, that could not serve
//	pods          pods at the same time, but for those being deleted
//	created       pods that were not among the remembered
//	surplus       restarts of a container beyond the changes of its image
func watched(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "watched SELECTOR unavailable|pods|created|surplus [<]=NUMBER..."
	expect(ts, !neg && len(args) >= 2, usage)
	s := of(ts)
	ts.Check(s.witness.catchUp(s.ctx))
	selector, err := labels.Parse(args[0])
	ts.Check(err)
	memory, ok := s.memories[args[0]]
	expect(ts, ok, "remember NUMBER SELECTOR, before: watched SELECTOR")
	worst := s.witness.worst(selector, memory)
	for _, arg := range args[1:] {
		what, b, ok := parseBound(arg)
		was, known := worst[what]
		expect(ts, ok && known, usage)
		if !b.holds(was.n) {
			ts.Logf("what happened:\n%s", s.witness.diary(selector, memory))
			ts.Fatalf("%s was %d, want %s; that was when\n%s", what, was.n, b, was.text)
		}
	}
}

// diary is everything that was seen of the pods, one line for each event that
// shows anything new.
func (w *witness) diary(selector labels.Selector, since memory) string {
	var lines []string
	told := map[types.UID]string{}
	for i, event := range w.testimony() {
		pod := event.Object.(*corev1.Pod)
		line := portrait(pod)
		if i >= since.mark && selector.Matches(labels.Set(pod.Labels)) && told[pod.UID] != line {
			lines = append(lines, line)
			told[pod.UID] = line
		}
	}
	return strings.Join(lines, "\n")
}

// extreme is the highest a number was, and what the pods looked like then.
type extreme struct {
	n    int
	text string
}

// worst tells the story's events again, and looks at the pods after each.
func (w *witness) worst(selector labels.Selector, since memory) map[string]extreme {
	worst := map[string]extreme{"unavailable": {}, "pods": {}, "created": {}, "surplus": {}}
	pods, created := map[types.UID]*corev1.Pod{}, map[types.UID]bool{}
	given := givenImages{}
	for i, event := range w.testimony() {
		pod := event.Object.(*corev1.Pod)
		if !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		given.note(pod)
		pods[pod.UID] = pod
		if event.Type == watch.Deleted {
			delete(pods, pod.UID)
		}
		if i < since.mark {
			continue
		}
		if since.pods[pod.UID] == nil {
			created[pod.UID] = true
		}
		now := map[string]int{"unavailable": len(since.pods) - serving(pods), "pods": living(pods), "created": len(created), "surplus": given.surplus(pod)}
		for what, n := range now {
			if n > worst[what].n {
				worst[what] = extreme{n, picture(pods)}
			}
		}
	}
	return worst
}

// givenImages are the images that the containers of pods were given, in turn.
type givenImages map[types.UID]map[string][]string

func (g givenImages) note(pod *corev1.Pod) {
	if g[pod.UID] == nil {
		g[pod.UID] = map[string][]string{}
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		images := g[pod.UID][container.Name]
		if len(images) == 0 || images[len(images)-1] != container.Image {
			g[pod.UID][container.Name] = append(images, container.Image)
		}
	}
}

// surplus is how many restarts of a container no change of its image explains.
func (g givenImages) surplus(pod *corev1.Pod) int {
	most := 0
	for container, restarts := range restartsOf(pod) {
		most = max(most, restarts-(len(g[pod.UID][container])-1))
	}
	return most
}

func living(pods map[types.UID]*corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func serving(pods map[types.UID]*corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if serves(pod) {
			n++
		}
	}
	return n
}
