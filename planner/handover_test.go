package planner

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func gentle(s *Settings) { s.MaxUnavailable = &Amount{Value: 1} }

// fromDeployment is a story in which a Deployment has the pods, and Git wants a CloneSet.
func fromDeployment(t *testing.T, edits ...edit) (*story, func(...edit)) {
	t.Helper()
	s := newStory(t, workload(t, "Deployment"))
	s.settle(Settled)
	return s, func(more ...edit) { s.push(hosting(t, gentle, append(edits, more...)...)) }
}

func (s *story) noneIsLeft() {
	s.t.Helper()
	for _, o := range append(s.of("Deployment"), s.of("ReplicaSet")...) {
		if o.GetKind() == "Deployment" || o.GetName() != "web" {
			s.t.Errorf("%s is left", refOf(o))
		}
	}
	for _, name := range s.members() {
		if owner := metav1.GetControllerOf(s.pods[name]); owner == nil || owner.Name != "web" || owner.Kind != "ReplicaSet" {
			s.t.Errorf("pod %s belongs to %v", name, owner)
		}
	}
}

func TestADeploymentsPodsGoToItsCloneSetWithoutARestart(t *testing.T) {
	s, switchOver := fromDeployment(t)
	before := s.uids()
	s.room = 0
	switchOver()
	s.settle(Settled)
	s.sameSince(before)
	s.restarted(0, 0)
	s.noneIsLeft()

	s.room = 1
	s.change(image(0, "app:v2")) // what they were made from is still known
	s.settle(Settled)
	s.sameSince(before)
	s.restarted(0, 1)
}

func TestReplicasThatGitLeavesToOthersSurviveAHandOver(t *testing.T) {
	s, switchOver := fromDeployment(t)
	before := s.uids()
	switchOver(func(o map[string]any) { delete(mapAt(o, "spec"), "replicas") })
	s.settle(Settled)
	s.sameSince(before)
}

// A crash after any action leaves a state that the next round goes on from.
func TestAHandOverGoesOnAfterACrashAtAnyAction(t *testing.T) {
	for n := 0; ; n++ {
		s, switchOver := fromDeployment(t)
		before := s.uids()
		s.room = 1
		switchOver(image(0, "app:v2"))
		whole := s.crashAfter(n)
		s.settle(Settled)
		s.sameSince(before)
		s.restarted(0, 1)
		s.noneIsLeft()
		if whole {
			t.Logf("%d actions", n)
			return
		}
	}
}

func TestNoOrderOfEventsLosesAPodInAHandOver(t *testing.T) {
	for seed := range *races {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s, switchOver := fromDeployment(t)
			s.changesHands(rand.New(rand.NewPCG(seed, 11)), switchOver)
			s.noneIsLeft()
		})
	}
}

// changesHands has another object have the pods, with a new image, while everybody
// sees things late, and now and then in the middle of an update.
func (s *story) changesHands(random *rand.Rand, next func(...edit)) {
	s.t.Helper()
	before := s.uids()
	s.room = 1
	if random.IntN(2) == 0 {
		s.change(image(1, "tail:v2"))
		s.race(random, random.IntN(100))
	}
	next(image(0, "app:v2"))
	s.race(random, random.IntN(400))
	s.settle(Settled)
	s.sameSince(before)
	s.restarted(0, 1)
}

func TestWhatADeploymentsPodsCannotHaveIsRecreatedAfterwardsInTurns(t *testing.T) {
	s, switchOver := fromDeployment(t)
	before := s.uids()
	s.room = 1
	switchOver(env("debug"))
	s.settle(Settled)
	s.allNewSince(before)
	s.noneIsLeft()
}

// abandoned makes the pods of a CloneSet whose controller and kind are gone. Of
// those in lost, nobody knows what they were made from.
func abandoned(s *story, owner bool, lost ...string) {
	for _, o := range s.of("ReplicaSet") {
		s.orphan(o.GetUID())
		delete(s.objects, refOf(o))
	}
	template := mapAt(s.commit.Manifests[0].Object, "spec", "template") // as people wrote it
	s.create(map[string]any{
		"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": int64(1), "data": map[string]any{"spec": map[string]any{"template": template}},
		"metadata": map[string]any{"name": "web-5d8f", "namespace": "shop"},
	})
	for i, name := range s.members() {
		pod := s.pods[name].DeepCopy()
		yes := true
		if owner {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", UID: "gone", Controller: &yes}}
		}
		delete(pod.Labels, LabelRevision)
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] = []string{"web-5d8f", "5d8f"}[i%2]
		if slices.Contains(lost, name) {
			pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "web-1234"
		}
		s.pods[name] = pod
	}
	s.catchUpAll("situ")
	s.catchUpAll("replicaset")
}

func TestPodsThatOpenKruiseHasLeftAreTakenOver(t *testing.T) {
	for _, owner := range []bool{false, true} {
		t.Run(fmt.Sprintf("owner %t", owner), func(t *testing.T) {
			for n := 0; ; n++ {
				s := newStory(t, workload(t, "ReplicaSet"))
				s.settle(Settled)
				abandoned(s, owner)
				before := s.uids()
				s.room = 1
				s.push(hosting(t, gentle, image(0, "app:v2")))
				whole := s.crashAfter(n)
				s.settle(Settled)
				s.sameSince(before)
				s.restarted(0, 1)
				s.noneIsLeft()
				if whole {
					return
				}
			}
		})
	}
}

func TestPodsOfAnUnknownTemplateAreRecreatedAfterTheHandOver(t *testing.T) {
	s := newStory(t, workload(t, "ReplicaSet"))
	s.settle(Settled)
	name := s.members()[0]
	abandoned(s, true, name)
	before := s.uids()
	s.room = 1
	s.push(hosting(t, gentle))
	s.decide()
	if got := s.plan.Workloads[0].Pods[0].Verb; !slices.ContainsFunc(s.plan.Workloads[0].Pods, func(p PodPlan) bool { return p.Name == name && p.Verb == Recreate }) {
		t.Errorf("the plan says %s of the first pod; want %s to be recreated:\n%s", got, name, planText(t, s.plan))
	}
	s.settle(Settled)
	delete(before, name)
	after := s.uids()
	for kept, uid := range before {
		if after[kept] != uid {
			t.Errorf("pod %s was recreated", kept)
		}
	}
	if len(after) != 4 {
		t.Errorf("%d pods, want 4", len(after))
	}
}

func TestPodsAreTakenFromADeploymentOnlyByRight(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *story)
		want   string // of the refusal, "" if the pods are taken
	}{
		{"ours", func(*story) {}, ""},
		{"somebody's", func(s *story) { delete(s.fields, deploymentRef(s.commit.Manifests[0].Ref)) }, "annotation situ.gitops/take-over: Deployment"},
		{"somebody's, and told so", func(s *story) {
			delete(s.fields, deploymentRef(s.commit.Manifests[0].Ref))
			s.commit.Manifests[0].Hosting.Settings.TakeOver = "Deployment"
		}, ""},
		{"in the same commit", func(s *story) { s.commit.Manifests = append(s.commit.Manifests, workload(s.t, "Deployment")) }, "remove one of them"},
		{"only in place", func(s *story) {
			s.commit.Manifests[0] = edited(s.commit.Manifests[0], env("debug"))
			s.commit.Manifests[0].Hosting.Settings.Update = InPlaceOnly
		}, "InPlaceOnly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, switchOver := fromDeployment(t)
			switchOver()
			tt.change(s)
			s.decide()
			w := s.plan.Workloads[0]
			if refused := w.State == Failed && len(w.Steps) == 0; refused != (tt.want != "") || !strings.Contains(w.Text, tt.want) {
				t.Errorf("%s %q with %d steps, want a refusal with %q", w.State, w.Text, len(w.Steps), tt.want)
			}
		})
	}
}

// Another selector selects other pods: a Deployment of that name is nobody's business.
func TestADeploymentWithAnotherSelectorIsLeftAlone(t *testing.T) {
	s, switchOver := fromDeployment(t)
	deployment := s.of("Deployment")[0]
	other := func(o map[string]any) {
		mapAt(o, "spec")["selector"] = map[string]any{"matchLabels": map[string]any{"app": "other"}}
		mapAt(o, "spec", "template", "metadata")["labels"] = map[string]any{"app": "other"}
	}
	switchOver(other)
	s.settle(Settled)
	if got := s.of("Deployment"); len(got) != 1 || !reflect.DeepEqual(got[0].Object["spec"], deployment.Object["spec"]) || len(s.members()) != 8 {
		t.Errorf("%d Deployments and %d pods; want the Deployment as it was, and four pods more", len(got), len(s.members()))
	}
}

// left are pods of a stock kind whose owner is OpenKruise's of the same name, and gone.
func left(s *story) {
	yes := true
	for name, pod := range s.pods {
		pod = pod.DeepCopy()
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: s.commit.Manifests[0].Kind, Name: "web", UID: "gone", Controller: &yes}}
		s.pods[name] = pod
	}
	for ref := range s.objects {
		delete(s.objects, ref)
	}
	s.catchUpAll("situ")
}

func TestStockSetsReplaceWhatOpenKruiseHasLeftAndNeverDoubleIt(t *testing.T) {
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind))
			s.settle(Settled)
			left(s)
			s.push(asking(workload(t, kind), gentle))
			s.decide()
			w := s.plan.Workloads[0]
			for _, pod := range w.Pods {
				if pod.Verb != Recreate || !strings.Contains(pod.Reasons[0].Text, kind+"'s own controller replaces it") {
					t.Errorf("pod %s: %s %v; want it replaced by the controller", pod.Name, pod.Verb, pod.Reasons)
				}
			}
			if len(w.Pods) != len(s.pods) || len(w.Steps) != 1 {
				t.Fatalf("%d pods and %d steps; want %d pods and one step:\n%s", len(w.Pods), len(w.Steps), len(s.pods), planText(t, s.plan))
			}
			s.round()
			for name, pod := range s.pods {
				if owner := metav1.GetControllerOf(pod); owner != nil {
					t.Errorf("pod %s still belongs to %s", name, owner.Kind)
				}
			}
			s.decide() // and now the host is made
			a := s.plan.Workloads[0].Steps[0][0]
			if _, counts := mapAt(a.Body.(map[string]any), "spec")["replicas"]; a.Name != "create" || a.Ref.Kind != kind || counts == (kind == "DaemonSet") {
				t.Errorf("then %s %s, with replicas %t; want the %s to be created", a.Name, a.Ref, counts, kind)
			}
		})
	}
}

func TestStockSetsNeverReplacePodsThatMayOnlyBeUpdatedInPlace(t *testing.T) {
	s := newStory(t, workload(t, "StatefulSet"))
	s.settle(Settled)
	left(s)
	s.push(asking(workload(t, "StatefulSet"), func(settings *Settings) { settings.Update = InPlaceOnly }))
	s.decide()
	if w := s.plan.Workloads[0]; w.State != Failed || len(w.Steps) > 0 || !strings.Contains(w.Text, "write InPlaceIfPossible") {
		t.Errorf("%s %q; want a refusal with the way out", w.State, w.Text)
	}
}

// A stock set that Git turns into OpenKruise's of the same name stays the same object.
func TestAStockSetThatBecomesAnAdvancedOneIsTheSameObject(t *testing.T) {
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		t.Run(kind, func(t *testing.T) {
			s := newStory(t, workload(t, kind))
			s.settle(Settled)
			before := s.uids()
			s.room = 1
			s.push(asking(edited(workload(t, kind), image(0, "app:v2")), gentle))
			s.settle(Settled)
			s.sameSince(before)
			s.restarted(0, 1)
		})
	}
}

// The Deployment is deleted last of all: what is not seen of it yet, nobody would know.
func TestADeploymentIsNotDeletedBeforeAllOfItIsSeen(t *testing.T) {
	for _, tt := range []struct {
		name string
		hide func(s *story, snap Snapshot)
		want string // what is waited for, "" if it is deleted
	}{
		{"all seen", func(*story, Snapshot) {}, ""},
		{"a pod is not", func(s *story, snap Snapshot) {
			for uid, pods := range snap.Pods {
				snap.Pods[uid] = pods[1:]
			}
		}, "to be seen"},
		{"the newest ReplicaSet is not", func(s *story, snap Snapshot) {
			d := snap.Namesakes[deploymentRef(s.commit.Manifests[0].Ref)].Object
			d.SetAnnotations(map[string]string{"deployment.kubernetes.io/revision": "2"})
		}, "to be seen"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, switchOver := fromDeployment(t)
			switchOver()
			s.round() // pauses it
			s.tick()
			s.catchUpAll("situ")
			snap := s.snapshot(s.commit, s.cache("situ"))
			tt.hide(s, snap)
			w := Decide(s.commit, snap).Workloads[0]
			deletes := slices.ContainsFunc(slices.Concat(w.Steps...), func(a Action) bool { return a.Mode == Delete })
			if deletes != (tt.want == "") || !strings.Contains(w.Text, tt.want) {
				t.Errorf("%q, and the Deployment is deleted: %t; want %q", w.Text, deletes, tt.want)
			}
		})
	}
}

// Pods beyond what Git wants go after the hand-over, as pods do that go: here
// with a hook before that.
func TestPodsThatAreTooManyGoAfterAHandOver(t *testing.T) {
	s := newStory(t, edited(workload(t, "Deployment"), withLabel))
	s.settle(Settled)
	before := s.uids()
	s.push(hosting(t, func(s *Settings) {
		gentle(s)
		s.Hooks.BeforeDelete = &Hook{Labels: map[string]string{drain: "wait"}}
	}, withLabel, set1(int64(3), "spec", "replicas")))
	s.decide()
	if told := strings.Join(s.plan.Workloads[0].Warnings, "\n"); !strings.Contains(told, "1 of them are more than the 3 that Git wants") {
		t.Errorf("the plan warns %q; want it to tell how many are too many", told)
	}
	if gone := removals(s.plan.Workloads[0]); len(gone) != 1 || turnOf(s.plan.Workloads[0], gone[0]) != 2 {
		t.Errorf("%v go for good, want one, after the hand-over", gone)
	}
	for range 40 {
		s.round()
		s.tick()
		s.catchUpAll("situ")
	}
	if got := len(s.members()); got != len(before) {
		t.Fatalf("%d pods; want all %d until the hook lets one go", got, len(before))
	}
	for _, pod := range s.pods {
		if stageOf(pod) == stagePreparingDelete {
			delete(pod.Labels, drain)
		}
	}
	s.settle(Settled)
	if got := len(s.members()); got != 3 {
		t.Errorf("%d pods; want 3 once the hook let one go", got)
	}
}

func TestAnAutoscalerOfADeploymentThatHandsItsPodsOverIsTold(t *testing.T) {
	s, switchOver := fromDeployment(t)
	switchOver()
	snap := s.snapshot(s.commit, s.cache("situ"))
	snap.Autoscalers = map[Ref]string{deploymentRef(s.commit.Manifests[0].Ref): "horizontalpodautoscaler/web"}
	told := strings.Join(Decide(s.commit, snap).Workloads[0].Warnings, "\n")
	if !strings.Contains(told, "let its scaleTargetRef name apps/v1 ReplicaSet web") {
		t.Errorf("the plan warns %q; want it to say what the autoscaler is to name", told)
	}
}
