package planner

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const drain = "example.io/drain"

// hosting makes a ReplicaSet the host of a CloneSet that asks for this.
func hosting(t testing.TB, ask func(*Settings), edits ...edit) Manifest {
	t.Helper()
	hosts := set1("apps.kruise.io/v1alpha1/CloneSet", "metadata", "annotations", AnnotationHosts)
	m := edited(workload(t, "ReplicaSet"), append([]edit{hosts}, edits...)...)
	m.Hosting = &Hosting{Ref: Ref{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Namespace: "shop", Name: "web"}, Settings: DefaultSettings()}
	m.Hosting.Settings.Explicit = true
	ask(&m.Hosting.Settings)
	return m
}

func hookedByFinalizer(s *Settings) { s.Hooks.AroundUpdate = &Hook{Finalizers: []string{drain}} }

func hookedByLabel(s *Settings) {
	s.Hooks.AroundUpdate = &Hook{Labels: map[string]string{drain: "wait"}, NotReady: true}
}

func withFinalizer(o map[string]any) {
	set1([]any{drain}, "spec", "template", "metadata", "finalizers")(o)
}

func withLabel(o map[string]any) { set1("wait", "spec", "template", "metadata", "labels", drain)(o) }

func withGate(o map[string]any) {
	set1([]any{map[string]any{"conditionType": string(GateReady)}}, "spec", "template", "spec", "readinessGates")(o)
}

// letGo and takeBack are what a controller of hooks does with a pod.
func (s *story) letGo(name string) { s.hook(name, false) }

func (s *story) takeBackHook(name string) { s.hook(name, true) }

func (s *story) hook(name string, has bool) {
	pod := s.pods[name].DeepCopy()
	hooks := s.commit.Manifests[0].Hosting.Settings.Hooks
	for _, hook := range []*Hook{hooks.AroundUpdate, hooks.BeforeDelete} {
		if hook == nil {
			continue
		}
		for key, value := range hook.Labels {
			pod.Labels[key] = map[bool]string{true: value, false: "done"}[has]
		}
		pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return slices.Contains(hook.Finalizers, f) })
		if has {
			pod.Finalizers = append(pod.Finalizers, hook.Finalizers...)
		}
	}
	s.pods[name] = pod
}

// playHooks does at once what pods wait for.
func (s *story) playHooks() {
	for _, name := range s.members() {
		switch stageOf(s.pods[name]) {
		case stagePreparingUpdate, stagePreparingDelete:
			s.letGo(name)
		case stageUpdated:
			s.takeBackHook(name)
		}
	}
}

// stages counts the pods of each stage.
func (s *story) stages() map[string]int {
	found := map[string]int{}
	for _, name := range s.members() {
		found[stageOf(s.pods[name])]++
	}
	return found
}

func (s *story) at(stage string) []string {
	return slices.DeleteFunc(s.members(), func(name string) bool { return stageOf(s.pods[name]) != stage })
}

var hookKinds = map[string]struct {
	ask  func(*Settings)
	edit []edit
}{
	"finalizer":       {hookedByFinalizer, []edit{withFinalizer}},
	"label and gate":  {hookedByLabel, []edit{withLabel, withGate}},
	"label, no gate":  {hookedByLabel, []edit{withLabel}},
	"gate and nobody": {hookedByLabel, []edit{withGate}},
}

// onEachHook runs a story with each way to hook, from settled pods.
func onEachHook(t *testing.T, tell func(t *testing.T, s *story)) {
	for _, name := range union(hookKinds, nil) {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, hosting(t, hookKinds[name].ask, hookKinds[name].edit...))
			s.settle(Settled)
			tell(t, s)
		})
	}
}

func TestAHookLetsGoOfEachPodBeforeItRestartsAndTakesItBack(t *testing.T) {
	onEachHook(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.room = 1
		s.others = append(s.others, s.playHooks)
		s.change(image(0, "app:v2"))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
		if got := s.stages()[stageNormal]; got != 4 {
			t.Errorf("stages are %v, want 4 normal ones", s.stages())
		}
	})
}

func TestAHookedPodWaitsAndThePlanSaysForWhat(t *testing.T) {
	s := newStory(t, hosting(t, hookedByFinalizer, withFinalizer))
	s.settle(Settled)
	s.change(image(0, "app:v2"), annotate(AnnotationMaxUnavailable, "2"))
	s.rounds(20)
	if got := s.stages()[stagePreparingUpdate]; got != 2 {
		t.Fatalf("stages are %v, want 2 pods that are prepared", s.stages())
	}
	s.restarted(0, 0)
	waiting := s.at(stagePreparingUpdate)
	want := "pod " + waiting[1] + ": waits for its hook: finalizer " + drain
	if w := s.plan.Workloads[0]; w.State != Progressing || w.Text != want && w.Text != strings.Replace(want, waiting[1], waiting[0], 1) {
		t.Errorf("the plan is %s: %q, want %q", w.State, w.Text, want)
	}
	// One is let go of: it and, after it, others go on beside the one that waits.
	stuck := waiting[0]
	s.others = append(s.others, func() {
		if s.pods[stuck].Finalizers == nil {
			t.Fatal("nobody has let go of it")
		}
		for _, name := range s.members() {
			switch stage := stageOf(s.pods[name]); {
			case name == stuck:
			case stage == stagePreparingUpdate:
				s.letGo(name)
			case stage == stageUpdated:
				s.takeBackHook(name)
			}
		}
	})
	s.rounds(60)
	if got := s.updatedPods("app:v2"); got != 3 {
		t.Errorf("%d pods are updated beside the one that waits, want 3", got)
	}
	if s.pods[stuck].Spec.Containers[0].Image != "app:v1" {
		t.Error("the pod that waits was updated")
	}
}

func TestARevertTakesAPreparedPodBackWithoutARestart(t *testing.T) {
	onEachHook(t, func(t *testing.T, s *story) {
		before := s.uids()
		s.change(image(0, "app:v2"))
		for len(s.at(stagePreparingUpdate)) == 0 {
			if s.updatedPods("app:v2") > 0 {
				return // nobody hooks its pods
			}
			s.rounds(1)
		}
		s.change(image(0, "app:v1"))
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 0)
		for _, name := range s.members() {
			if hasGate(s.pods[name]) && condition(s.pods[name], GateReady) != corev1.ConditionTrue {
				t.Errorf("the gate of pod %s stays closed", name)
			}
		}
	})
}

func TestANewTargetAsksTheHookAgain(t *testing.T) {
	s := newStory(t, hosting(t, hookedByFinalizer, withFinalizer))
	s.settle(Settled)
	s.others = append(s.others, func() {
		for _, name := range s.at(stagePreparingUpdate) {
			s.letGo(name)
		}
	})
	s.change(image(0, "app:v2"))
	for len(s.at(stageUpdated)) == 0 {
		s.rounds(1)
	}
	name := s.at(stageUpdated)[0]
	s.others = nil
	s.change(image(0, "app:v3"))
	for stageOf(s.pods[name]) == stageUpdated {
		s.rounds(1)
	}
	if stage := stageOf(s.pods[name]); stage != stagePreparingUpdate || !slices.Contains(s.pods[name].Finalizers, drain) {
		t.Fatalf("pod %s is %s with finalizers %v, want it prepared and hooked again", name, stage, s.pods[name].Finalizers)
	}
	s.others = append(s.others, s.playHooks)
	s.settle(Settled)
	if got := s.updatedPods("app:v3"); got != 4 {
		t.Errorf("%d pods are updated, want 4", got)
	}
}

func TestAHookHoldsAPodThatIsMadeAnew(t *testing.T) {
	ask := func(s *Settings) {
		s.Hooks.BeforeDelete = &Hook{Finalizers: []string{drain}, NotReady: true}
	}
	for name, edits := range map[string][]edit{"plain": {withFinalizer}, "gate": {withFinalizer, withGate}} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, hosting(t, ask, edits...))
			s.settle(Settled)
			before := s.uids()
			s.room = 1
			s.change(env("debug"))
			s.rounds(20)
			s.sameSince(before)
			if len(s.at(stagePreparingDelete)) != 1 {
				t.Fatalf("stages are %v, want one pod that is prepared", s.stages())
			}
			s.others = append(s.others, s.playHooks)
			s.settle(Settled)
			s.allNewSince(before)
		})
	}
}

// A pod that is drained is unready, and nobody knows for how long.
func TestAHookMayTakeLongerThanTheDeadline(t *testing.T) {
	both := func(s *Settings) {
		hookedByLabel(s)
		s.Hooks.BeforeDelete = &Hook{Labels: map[string]string{drain: "wait"}, NotReady: true}
	}
	for name, change := range map[string]edit{
		"update": image(0, "app:v2"), "made anew": env("debug"), "fewer": set1(int64(3), "spec", "replicas"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, hosting(t, both, withLabel, withGate))
			s.settle(Settled)
			s.change(change)
			s.rounds(10)
			s.now = s.now.Add(3 * DefaultDeadline)
			s.rounds(10)
			if w := s.plan.Workloads[0]; w.State != Progressing || !strings.Contains(w.Text, "waits for its hook") {
				t.Fatalf("the plan is %s: %q, want it to wait for the hook", w.State, w.Text)
			}
			s.others = append(s.others, s.playHooks)
			s.settle(Settled)
		})
	}
}

func TestARevertTakesAPodBackThatWasToBeDeleted(t *testing.T) {
	ask := func(s *Settings) { s.Hooks.BeforeDelete = &Hook{Finalizers: []string{drain}} }
	s := newStory(t, hosting(t, ask, withFinalizer))
	s.settle(Settled)
	before := s.uids()
	s.change(env("debug"))
	for len(s.at(stagePreparingDelete)) == 0 {
		s.rounds(1)
	}
	s.change(func(o map[string]any) { delete(containers(o)[0].(map[string]any), "env") })
	s.settle(Settled)
	s.sameSince(before)
}

func TestAPodThatOpenKruiseHadIsNormalOnceItHasANode(t *testing.T) {
	s := newStory(t, hosting(t, hookedByFinalizer, withFinalizer))
	s.settle(Settled)
	name := s.members()[0]
	pod := s.pods[name].DeepCopy()
	pod.Labels[LabelLifecycle] = stagePreparingNormal
	s.pods[name] = pod
	s.settle(Settled)
	if got := s.stages(); got[stageNormal] != 4 {
		t.Errorf("stages are %v, want 4 normal ones", got)
	}
}

func TestHooksThatLeaveGitLeaveNoPodBehind(t *testing.T) {
	s := newStory(t, hosting(t, hookedByFinalizer, withFinalizer))
	s.settle(Settled)
	before := s.uids()
	s.change(image(0, "app:v2"))
	s.rounds(12)
	s.push(edited(hosting(t, func(*Settings) {}, withFinalizer), image(0, "app:v2")))
	s.settle(Settled)
	s.sameSince(before)
	s.restarted(0, 1)
	if got := s.stages(); got[stageNormal] != 4 {
		t.Errorf("stages are %v, want 4 normal ones", got)
	}
}

func TestAHookIsAskedOnceThoughSituCrashesAtAnyAction(t *testing.T) {
	for n := 0; ; n++ {
		s := newStory(t, hosting(t, hookedByLabel, withLabel, withGate))
		s.settle(Settled)
		before := s.uids()
		s.room = 1
		asked := map[string]bool{}
		s.others = append(s.others, func() {
			for _, name := range s.at(stagePreparingUpdate) {
				if asked[name] && s.pods[name].Labels[drain] == "wait" {
					t.Fatalf("crash after %d actions: the hook of pod %s is asked again", n, name)
				}
				asked[name] = true
			}
			s.playHooks()
		})
		s.change(image(0, "app:v2"))
		whole := s.crashAfter(n)
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
		if s.stages()[stageNormal] != 4 || len(asked) != 4 {
			t.Errorf("crash after %d actions: stages are %v and %d hooks were asked, want 4 normal ones and 4", n, s.stages(), len(asked))
		}
		if whole {
			return
		}
	}
}

func TestNoOrderOfEventsSkipsAHook(t *testing.T) {
	for seed := range *races {
		s := newStory(t, hosting(t, hookedByLabel, withLabel, withGate))
		s.settle(Settled)
		random := rand.New(rand.NewPCG(seed, 11))
		before := s.uids()
		s.room = 1
		s.others = append(s.others, s.playHooks)
		s.change(image(0, "app:v2"))
		for range 20 {
			s.race(random, 20)
			for _, name := range s.members() {
				if pod := s.pods[name]; pod.Spec.Containers[0].Image != "app:v1" && pod.Labels[drain] == "wait" && stageOf(pod) == stageUpdating {
					t.Fatalf("pod %s was patched before its hook let go of it", name)
				}
			}
			s.playHooks()
		}
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
	}
}
