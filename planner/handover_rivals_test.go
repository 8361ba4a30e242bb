package planner

import (
	"strings"
	"testing"
)

func TestAHostIsNotMadeWhileSomebodyElseWantsItsPods(t *testing.T) {
	narrower := func(o map[string]any) {
		both := map[string]any{"app": "web", "tier": "front"}
		mapAt(o, "spec", "selector")["matchLabels"] = both
		mapAt(o, "spec", "template", "metadata")["labels"] = both
	}
	for _, tt := range []struct {
		name  string
		story func(t *testing.T) *story
		want  string // of the refusal, "" if the host is made
	}{
		{"a Deployment of the name, by a narrower selector", func(t *testing.T) *story {
			s := newStory(t, workload(t, "Deployment"), narrower)
			s.settle(Settled)
			s.push(hosting(t, gentle))
			return s
		}, "write the Deployment's spec.selector here"},
		{"a Pod of the commit", func(t *testing.T) *story {
			return besideAManifest(t, "web")
		}, "give it other labels, or remove it from Git"},
		{"a Pod of the commit that it does not select", func(t *testing.T) *story {
			return besideAManifest(t, "other")
		}, ""},
		{"a Pod of another source", func(t *testing.T) *story { return besideAPodOf(t, "there") }, "--take-over there"},
		{"a Pod of a source that has moved here", func(t *testing.T) *story {
			s := besideAPodOf(t, "there")
			s.commit.Policy.TakeOver = []string{"there"}
			return s
		}, ""},
		{"a Pod that was of this source", func(t *testing.T) *story { return besideAPodOf(t, "here") }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.story(t)
			s.decide()
			w := s.plan.Workloads[0]
			if refused := w.State == Failed && w.Verdict == Refuse && len(w.Steps) == 0; refused != (tt.want != "") || !strings.Contains(w.Text, tt.want) {
				t.Errorf("%s %q with %d steps, want a refusal with %q", w.State, w.Text, len(w.Steps), tt.want)
			}
		})
	}
}

// besideAManifest has a Pod with that label app in the same commit.
func besideAManifest(t *testing.T, app string) *story {
	s := newStory(t, hosting(t, gentle))
	pod := edited(workload(t, "Pod"), set1("lone", "metadata", "name"), set1(map[string]any{"app": app}, "metadata", "labels"))
	pod.Name = "lone"
	s.commit.Manifests = append(s.commit.Manifests, pod)
	return s
}

// besideAPodOf has a pod that a source has made and that the host would adopt.
func besideAPodOf(t *testing.T, source string) *story {
	s := newStory(t, workload(t, "ReplicaSet"))
	s.settle(Settled)
	abandoned(s, false)
	s.pods[s.members()[0]].Annotations[AnnotationSource] = source
	s.catchUpAll("situ")
	s.push(hosting(t, gentle))
	s.commit.Source = "here"
	return s
}
