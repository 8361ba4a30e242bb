package planner

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A controller makes pods, and the next commit comes before situ has seen them.
// It could be patched into them, so they stay.
func TestPodsThatNobodyHasSeenAreNotLeftToTheirController(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first func(*story) // commits what has them made
	}{
		{"it rolls by itself, since a commit needs new pods", func(s *story) {
			s.settle(Settled)
			s.change(env("1"))
		}},
		{"they are its first", func(s *story) { s.change(env("1")) }},
	} {
		for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				s := newStory(t, workload(t, kind))
				s.pull = PullNever
				tt.first(s)
				s.round()
				for range 12 {
					if len(s.withEnv("1")) > 0 {
						break
					}
					s.tickControllers()
				}
				unseen := s.withEnv("1")
				if len(unseen) == 0 {
					t.Fatalf("the controller has made no new pod:\n%s", s.describe())
				}
				for _, seen := range kinds[1:] { // all but pods
					s.catchUp("situ", seen)
				}
				s.change(image(0, "app:v2"))
				s.round()
				for range 6 {
					s.tick()
				}
				s.settle(Settled)
				for _, gone := range s.gone {
					if slices.Contains(unseen, gone.uid) {
						t.Errorf("%s deleted pod %s, which could be patched", gone.by, gone.name)
					}
				}
			})
		}
	}
}

// withEnv are the pods that were made with this value.
func (s *story) withEnv(value string) []types.UID {
	var found []types.UID
	for _, name := range s.members() {
		if envOf(s.pods[name]) == value {
			found = append(found, s.pods[name].UID)
		}
	}
	return found
}

func envOf(pod *corev1.Pod) string {
	for _, entry := range pod.Spec.Containers[0].Env {
		if entry.Name == "LOG" {
			return entry.Value
		}
	}
	return ""
}

// decidedEnv is what one commit wanted that only a new pod can have, and when it
// was decided on first.
type decidedEnv struct {
	commit, env string
	at          time.Time
}

func (s *story) remember() {
	if n := len(s.decided); n > 0 && s.decided[n-1].commit == s.commit.ID {
		return
	}
	container, _ := containers(s.commit.Manifests[0].Object)[0].(map[string]any)
	env, _ := container["env"].([]any)
	decided := decidedEnv{commit: s.commit.ID, at: s.now}
	for _, entry := range env {
		if fields, _ := entry.(map[string]any); textAt(fields, "name") == "LOG" {
			decided.env = textAt(fields, "value")
		}
	}
	s.decided = append(s.decided, decided)
}

// newAndOutdated: no plan has named the pod yet, and a commit that was decided on
// in its time needs a new one.
func (s *story) newAndOutdated(pod *corev1.Pod) bool {
	if s.known[pod.UID] {
		return false
	}
	for i, decided := range s.decided {
		if i+1 < len(s.decided) && s.decided[i+1].at.Before(pod.CreationTimestamp.Time) {
			continue // another commit had taken over before it was made
		}
		if decided.env != envOf(pod) {
			return true
		}
	}
	return false
}
