package planner

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// story drives one workload's commits through the world and checks, after every
// single event, what must always hold.
type story struct {
	*world
	commits   int
	commit    Commit
	plan      Plan
	pull      PullPolicy
	decisions int
	room      int                // pods that may be unavailable; negative: this story does not say
	meddled   bool               // somebody else has written on pods
	others    []func()           // who else acts in every tick
	known     map[types.UID]bool // pods that some plan has named
	decided   []decidedEnv
}

func newStory(t testing.TB, m Manifest, edits ...edit) *story {
	s := &story{world: newWorld(t), room: -1, known: map[types.UID]bool{}}
	s.push(edited(m, edits...))
	return s
}

func (s *story) push(m Manifest) {
	s.commits++
	s.commit = Commit{ID: fmt.Sprintf("c%d", s.commits), Manifests: []Manifest{m}, Policy: Policy{Pull: s.pull}}
}

// change commits edits of what is wanted now.
func (s *story) change(edits ...edit) { s.push(edited(s.commit.Manifests[0], edits...)) }

// decide decides from situ's cache, and now and then checks that deciding is pure.
func (s *story) decide() {
	snap := s.snapshot(s.commit, s.cache("situ"))
	s.decisions++
	s.remember()
	if s.decisions%8 == 0 {
		s.decidePurely(snap)
	} else {
		s.plan = Decide(s.commit, snap)
	}
	for _, w := range s.plan.Workloads {
		for _, pod := range w.Pods {
			s.known[pod.UID] = true
			if (pod.Verb == Recreate || pod.Verb == Remove) && pod.Turn > 0 {
				s.allow[pod.UID] = true
			}
			if len(pod.Drift) > 0 && !s.meddled {
				s.t.Fatalf("pod %s has drifted, though nobody else has written on it: %+v", pod.Name, pod.Drift)
			}
		}
	}
}

// decidePurely: the snapshot stays as it is, and its order does not matter.
func (s *story) decidePurely(snap Snapshot) {
	before := fingerprint(s.t, snap)
	s.plan = Decide(s.commit, snap)
	if after := fingerprint(s.t, snap); after != before {
		s.t.Fatalf("Decide edited its snapshot")
	}
	if again := Decide(s.commit, shuffled(snap)); planJSON(s.t, again) != planJSON(s.t, s.plan) {
		s.t.Fatalf("the same snapshot in another order gave another plan:\n%s\n%s", planText(s.t, s.plan), planText(s.t, again))
	}
}

// round decides and carries out; it reports whether anything was written. What
// situ writes, its own cache shows at once.
func (s *story) round() bool {
	s.decide()
	written := s.writes
	for _, w := range s.plan.Workloads {
		s.carryOut(w.Steps)
	}
	return s.writes > written
}

func (s *story) carryOut(steps []Step) {
	for _, step := range steps {
		for _, action := range step {
			err := s.do(action)
			s.check(action.Name)
			if err != nil {
				return // the rest is for the next round
			}
			s.readBack(action.Ref)
		}
	}
}

func (s *story) readBack(ref Ref) {
	v := s.cache("situ")
	if ref.Kind == "Pod" {
		v.pods = maps.Clone(v.pods)
		delete(v.pods, ref.Name)
		if pod := s.pods[ref.Name]; pod != nil {
			v.pods[ref.Name] = pod
		}
		return
	}
	delete(v.objects, ref)
	if o := s.objects[ref]; o != nil {
		v.objects[ref] = o
	}
}

// check asserts what holds at every instant.
func (s *story) check(event string) {
	s.now = s.now.Add(time.Second)
	if s.room < 0 {
		return
	}
	down := s.wanted()
	for _, name := range s.members() {
		down -= boolInt(isReady(s.pods[name]))
	}
	if down > s.room {
		s.t.Fatalf("after %s: %d pods are unavailable, %d may be", event, down, s.room)
	}
}

func (s *story) wanted() int {
	switch m := s.commit.Manifests[0]; m.Kind {
	case "DaemonSet":
		return len(s.nodes)
	case "Pod":
		return 1
	default:
		if live := s.objects[m.Ref]; live != nil && m.Hosting != nil && at(m.Object, "spec", "replicas") != nil {
			return min(numberAt(live.Object, 1, "spec", "replicas"), numberAt(m.Object, 1, "spec", "replicas"))
		} else if live != nil {
			return numberAt(live.Object, 1, "spec", "replicas")
		}
		return 0
	}
}

// controllers by the name of their cache.
func (s *story) controllers() map[string]func() {
	return map[string]func(){"deployment": s.deployments, "replicaset": s.replicaSets, "statefulset": s.statefulSets, "daemonset": s.daemonSets}
}

func (s *story) runController(name string) {
	s.controllers()[name]()
	s.check(name)
}

// tickControllers lets the controllers see everything and take a step.
func (s *story) tickControllers() {
	for _, name := range slices.Sorted(maps.Keys(s.controllers())) {
		s.catchUpAll(name)
		s.runController(name)
	}
}

// tick lets everybody but situ see everything and take a step.
func (s *story) tick() {
	s.tickControllers()
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		s.kubelet(name)
		s.check("kubelet " + name)
	}
	for _, act := range s.others {
		act()
		s.check("somebody else")
	}
}

// settle runs ticks and rounds until the commit has one of the wanted states
// and nobody moves, and then checks that nobody moves any more.
func (s *story) settle(want State) {
	s.t.Helper()
	quiet := 0
	for range 120 {
		s.tick()
		s.catchUpAll("situ")
		acted := s.round()
		quiet++
		if acted || s.plan.State != want {
			quiet = 0
		}
		if quiet == 8 {
			s.stays(want)
			return
		}
	}
	s.t.Fatalf("commit %s is %s, not %s:\n%s\n%s", s.commit.ID, s.plan.State, want, planText(s.t, s.plan), s.describe())
}

// stays: a settled commit has no steps, and its pods run what it wants.
func (s *story) stays(want State) {
	s.t.Helper()
	for _, w := range s.plan.Workloads {
		if len(w.Steps) > 0 {
			s.t.Fatalf("%s, but steps remain:\n%s", want, planText(s.t, s.plan))
		}
	}
	if want != Settled {
		return
	}
	m := s.commit.Manifests[0]
	for _, name := range s.members() {
		pod := s.pods[name]
		for i, c := range containers(m.Object) {
			if got, want := pod.Spec.Containers[i].Image, c.(map[string]any)["image"]; got != want && !strings.HasPrefix(got, fmt.Sprint(want)+"@") {
				s.t.Fatalf("settled, but pod %s runs %s, not %s", pod.Name, got, want)
			}
		}
		for key, value := range mapAt(templateOrPod(m), "metadata", "annotations") {
			if pod.Annotations[key] != value && !strings.HasPrefix(key, Domain) {
				s.t.Fatalf("settled, but annotation %s of pod %s is %q, not %q", key, pod.Name, pod.Annotations[key], value)
			}
		}
	}
}

func templateOrPod(m Manifest) map[string]any {
	if m.Kind == "Pod" {
		return m.Object
	}
	return mapAt(m.Object, "spec", "template")
}

// race runs events in a random order, with caches that lag behind kind by kind.
func (s *story) race(random *rand.Rand, events int) {
	s.t.Helper()
	names := slices.Sorted(maps.Keys(s.controllers()))
	for range events {
		switch random.IntN(5) {
		case 0, 1:
			reader := append([]string{"situ", "situ", "situ"}, names...)[random.IntN(len(names)+3)]
			s.catchUp(reader, kinds[random.IntN(len(kinds))])
		case 2:
			s.runController(names[random.IntN(len(names))])
		case 3:
			if pods := slices.Sorted(maps.Keys(s.pods)); len(pods) > 0 {
				s.kubelet(pods[random.IntN(len(pods))])
				s.check("kubelet")
			}
		case 4:
			s.round()
		}
	}
}

// uids are the pods of now, by name.
func (s *story) uids() map[string]types.UID {
	found := map[string]types.UID{}
	for _, name := range s.members() {
		found[name] = s.pods[name].UID
	}
	return found
}

// sameSince checks that every pod is still the one it was.
func (s *story) sameSince(before map[string]types.UID) {
	s.t.Helper()
	if now := s.uids(); !reflect.DeepEqual(now, before) {
		s.t.Errorf("pods are %v, not %v: some were recreated\n%v", now, before, s.gone)
	}
}

// restarted checks how often container i of every pod has restarted.
func (s *story) restarted(i, times int) {
	s.t.Helper()
	for _, name := range s.members() {
		if got := s.pods[name].Status.ContainerStatuses[i].RestartCount; int(got) != times {
			s.t.Errorf("container %d of pod %s restarted %d times, not %d", i, name, got, times)
		}
	}
}

func (s *story) describe() string {
	var b strings.Builder
	for _, name := range s.members() {
		pod := s.pods[name]
		fmt.Fprintf(&b, "%s %s ready=%v labels=%v images=", name, pod.UID, isReady(pod), pod.Labels)
		for i := range pod.Spec.Containers {
			fmt.Fprintf(&b, "%s ", pod.Spec.Containers[i].Image)
		}
		fmt.Fprintln(&b)
	}
	for _, kind := range kinds {
		for _, o := range s.of(kind) {
			fmt.Fprintf(&b, "%s status=%v generation=%d\n", refOf(o), o.Object["status"], o.GetGeneration())
		}
	}
	return b.String()
}

func planText(t testing.TB, plan Plan) string {
	t.Helper()
	text, err := yaml.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func planJSON(t testing.TB, plan Plan) string {
	t.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fingerprint is everything that a snapshot holds, as text.
func fingerprint(t testing.TB, snap Snapshot) string {
	t.Helper()
	flat := map[string]any{"pods": snap.Pods, "owned": snap.Owned}
	for ref, live := range snap.Live {
		flat["live "+ref.String()] = live
	}
	for ref, proof := range snap.Proofs {
		flat["proof "+ref.String()] = proof
	}
	text, err := json.Marshal(flat)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shuffled is the same snapshot, with its lists the other way round.
func shuffled(snap Snapshot) Snapshot {
	other := snap
	other.Pods, other.Owned = map[types.UID][]*corev1.Pod{}, map[types.UID][]*unstructured.Unstructured{}
	for owner, pods := range snap.Pods {
		turned := slices.Clone(pods)
		slices.Reverse(turned)
		other.Pods[owner] = turned
	}
	for owner, objects := range snap.Owned {
		turned := slices.Clone(objects)
		slices.Reverse(turned)
		other.Owned[owner] = turned
	}
	return other
}
