package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"

	"situ.gitops/examples/playground/nodes"
	"situ.gitops/planner"
)

// wayVerbs are about a pod's way through an update.
var wayVerbs = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"in-order":       inOrder,
	"never":          never,
	"never-unpinned": neverUnpinned,
	"pulling":        pulling,
	"forget-digests": forgetDigests,
	"apply":          applyFile,
	"eventually":     eventuallySays,
	"tainted-node":   taintedNode,
}

// inOrder wants events in their order in the life of every remembered pod. With
// -apart=TIME the first and the second are apart for as long, at least.
//
//	image=CONTAINER     its spec names another image than was remembered
//	runs=CONTAINER      the image of its spec runs, another than was remembered, and is ready
//	resized=CONTAINER   other resources than were remembered are in force, those of its spec
//	gate=STATUS         the readiness gate InPlaceUpdateReady has this status
//	unready             the kubelet takes the pod for unready
func inOrder(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "in-order [-apart=TIME] SELECTOR EVENT EVENT..."
	var apart time.Duration
	if len(args) > 0 && strings.HasPrefix(args[0], "-apart=") {
		d, err := time.ParseDuration(strings.TrimPrefix(args[0], "-apart="))
		ts.Check(err)
		apart, args = d, args[1:]
	}
	expect(ts, !neg && len(args) >= 3, usage)
	lives := of(ts).lives(ts, args[0])
	for _, life := range lives {
		last := -1
		var before time.Time
		for i, event := range args[1:] {
			at := life.first(ts, event, last+1)
			if at < 0 {
				ts.Fatalf("pod %s: no %s after %q; its life was\n%s", life.before.Name, event, args[1:i+1], life)
			}
			moment := life.moments[at]
			if between := moment.Sub(before); i == 1 && between < apart {
				ts.Fatalf("pod %s: %s came %s after %s, want %s at least", life.before.Name, event, between, args[1], apart)
			}
			if early := life.first(ts, event, 0); i > 0 && !strings.HasPrefix(event, "gate=") && early <= last {
				ts.Fatalf("pod %s: %s came before %s; its life was\n%s", life.before.Name, event, args[i], life)
			}
			last, before = at, moment
		}
	}
}

// never wants an event not to be in the life of any remembered pod.
func never(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 2, "never SELECTOR EVENT")
	for _, life := range of(ts).lives(ts, args[0]) {
		if at := life.first(ts, args[1], 0); at >= 0 {
			ts.Fatalf("pod %s: there was %s; its life was\n%s", life.before.Name, args[1], life)
		}
	}
}

// neverUnpinned wants no container that ran an image by its digest to be given
// the bare tag again that it had before.
func neverUnpinned(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 1, "never-unpinned SELECTOR")
	for _, life := range of(ts).lives(ts, args[0]) {
		left := map[string]bool{} // "container image" that a digest came after
		was := map[string]string{}
		for _, pod := range life.pods {
			for _, c := range pod.Spec.Containers {
				if left[c.Name+" "+c.Image] {
					ts.Fatalf("pod %s: container %s went back to %s", pod.Name, c.Name, c.Image)
				}
				if strings.Contains(c.Image, "@") && !strings.Contains(was[c.Name], "@") {
					left[c.Name+" "+was[c.Name]] = true
				}
				was[c.Name] = c.Image
			}
		}
	}
}

// pulling wants no more than a number of pulls to have been under way at a time.
func pulling(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 1, "pulling NUMBER")
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	s := of(ts)
	ts.Check(s.witness.catchUp(s.ctx))
	under := map[types.UID]bool{}
	for _, event := range s.witness.testimony() {
		pod := event.Object.(*corev1.Pod)
		if pod.Labels[planner.LabelPull] == "" {
			continue
		}
		delete(under, pod.UID)
		if event.Type != watch.Deleted && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending {
			under[pod.UID] = true
		}
		if len(under) > most {
			ts.Fatalf("%d pulls were under way, want %d at most", len(under), most)
		}
	}
}

// forgetDigests takes the image ids out of the pods' status, as some runtimes
// leave them.
func forgetDigests(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 1, "forget-digests SELECTOR")
	s := of(ts)
	pods, err := s.pods(args[0])
	ts.Check(err)
	client := s.client().CoreV1().Pods(s.namespace)
	for _, pod := range pods {
		ts.Check(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			now, err := client.Get(s.ctx, pod.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for i := range now.Status.ContainerStatuses {
				now.Status.ContainerStatuses[i].ImageID = ""
			}
			_, err = client.UpdateStatus(s.ctx, now, metav1.UpdateOptions{})
			return err
		}))
	}
}

// taintedNode adds a simulated node that evicts every pod which does not tolerate
// its taint, so that no other story is disturbed. Its name ends in 0.
func taintedNode(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 1, "tainted-node PREFIX")
	s := of(ts)
	simulator, err := nodes.Start(s.ctx, s.ground.cluster.Config(), nodes.Options{Count: 1, Prefix: args[0],
		Taints: []corev1.Taint{{Key: "playground.situ.gitops/reserved", Effect: corev1.TaintEffectNoExecute}}})
	ts.Check(err)
	ts.Defer(simulator.Stop)
}

// applyFile applies a file of the story by kubectl, its $VARIABLES replaced.
func applyFile(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 1, "apply FILE")
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	file := filepath.Join(ts.MkAbs("."), ".applied.yaml")
	ts.Check(os.WriteFile(file, []byte(text), 0o600))
	ts.Check(ts.Exec("kubectl", "apply", "-f", file))
}

// eventuallySays runs a program until its output matches.
func eventuallySays(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) >= 2, "eventually PATTERN PROGRAM [ARGUMENT...]")
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	ts.Check(eventually(of(ts).ctx, strings.Join(args, " "), func() (bool, error) {
		err := ts.Exec(args[1], args[2:]...)
		said := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if !pattern.MatchString(said) {
			return false, fmt.Errorf("it says %q: %w", said, err)
		}
		return true, nil
	}))
}

// life is what was seen of one remembered pod since then.
type life struct {
	before  *corev1.Pod
	pods    []*corev1.Pod
	moments []time.Time // when each was seen
}

func (s *story) lives(ts *testscript.TestScript, selector string) []life {
	memory, ok := s.memories[selector]
	expect(ts, ok, "remember NUMBER SELECTOR, before: looking at what happened since")
	ts.Check(s.witness.catchUp(s.ctx))
	found := map[types.UID]*life{}
	events, moments := s.witness.testimony(), s.witness.moments()
	for i := memory.mark; i < len(events); i++ {
		pod := events[i].Object.(*corev1.Pod)
		if memory.pods[pod.UID] == nil {
			continue
		}
		if found[pod.UID] == nil {
			found[pod.UID] = &life{before: memory.pods[pod.UID]}
		}
		l := found[pod.UID]
		l.pods, l.moments = append(l.pods, pod), append(l.moments, moments[i])
	}
	var lives []life
	for _, l := range found {
		lives = append(lives, *l)
	}
	return lives
}

// first is where an event happens for the first time, from a place on; -1: nowhere.
func (l life) first(ts *testscript.TestScript, event string, from int) int {
	kind, name, _ := strings.Cut(event, "=")
	is, ok := happenings[kind]
	expect(ts, ok, "an EVENT is image=, runs=, resized= or gate= with a name, or unready")
	for i := from; i < len(l.pods); i++ {
		if is(l.before, l.pods[i], name) {
			return i
		}
	}
	return -1
}

// String is the life in lines.
func (l life) String() string {
	var b strings.Builder
	for i, pod := range l.pods {
		gate := conditionIn(pod, "InPlaceUpdateReady")
		fmt.Fprintf(&b, "  %s gate %s, ready %s", l.moments[i].Format("05.000"), gate, conditionIn(pod, corev1.PodReady))
		for _, c := range pod.Spec.Containers {
			fmt.Fprintf(&b, ", %s wants %s", c.Name, c.Image)
			if status := statusOf(pod, c.Name); status != nil {
				fmt.Fprintf(&b, " has %s ready %t", status.Image, status.Ready)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

var happenings = map[string]func(before, now *corev1.Pod, name string) bool{
	"image": func(before, now *corev1.Pod, name string) bool { return imageOf(now, name) != imageOf(before, name) },
	"runs": func(before, now *corev1.Pod, name string) bool {
		status := statusOf(now, name)
		return imageOf(now, name) != imageOf(before, name) && status != nil && status.Ready && runs(status, imageOf(now, name))
	},
	"resized": func(before, now *corev1.Pod, name string) bool {
		was, is := statusOf(before, name), statusOf(now, name)
		return was != nil && is != nil && is.Resources != nil && was.Resources != nil &&
			!equality.Semantic.DeepEqual(is.Resources, was.Resources) && equality.Semantic.DeepEqual(is.Resources, resourcesOf(now, name))
	},
	"gate": func(_, now *corev1.Pod, status string) bool {
		return string(conditionIn(now, "InPlaceUpdateReady")) == status
	},
	"unready": func(_, now *corev1.Pod, _ string) bool {
		return conditionIn(now, corev1.PodReady) == corev1.ConditionFalse
	},
}

func conditionIn(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return "absent"
}

func imageOf(pod *corev1.Pod, container string) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

func resourcesOf(pod *corev1.Pod, container string) *corev1.ResourceRequirements {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == container {
			return &corev1.ResourceRequirements{Requests: c.Resources.Requests, Limits: c.Resources.Limits}
		}
	}
	return nil
}
