package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"situ.gitops/applier"
	"situ.gitops/applier/cluster"
	"situ.gitops/planner"
	"situ.gitops/sync/poller"
)

type fakeLoop struct {
	status              poller.Status
	live, health, ready error
}

func (f fakeLoop) Status() poller.Status { return f.status }
func (f fakeLoop) Live() error           { return f.live }
func (f fakeLoop) Health() error         { return f.health }
func (f fakeLoop) Ready() error          { return f.ready }

func get(t *testing.T, loop watched, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	newPage(loop, "prod", func() cluster.Counts { return cluster.Counts{Verbs: map[string]int{"get": 3, "patch": 1}, Watches: 2} }).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return answer
}

func TestProbesAnswerAsTheLoopIs(t *testing.T) {
	for _, tt := range []struct {
		path string
		loop fakeLoop
		want int
	}{
		{"/livez", fakeLoop{health: errors.New("stale"), ready: errors.New("not yet")}, http.StatusOK},
		{"/livez", fakeLoop{live: errors.New("hangs")}, http.StatusServiceUnavailable},
		{"/healthz", fakeLoop{}, http.StatusOK},
		{"/healthz", fakeLoop{health: errors.New("stale")}, http.StatusServiceUnavailable},
		{"/readyz", fakeLoop{}, http.StatusOK},
		{"/readyz", fakeLoop{ready: errors.New("not yet")}, http.StatusServiceUnavailable},
	} {
		if got := get(t, tt.loop, "GET", tt.path); got.Code != tt.want {
			t.Errorf("GET %s: %d; want %d", tt.path, got.Code, tt.want)
		}
	}
}

func TestThePageShowsPlanAndOutcomeAndIsReadOnly(t *testing.T) {
	loop := fakeLoop{status: poller.Status{Commit: "c1", Subject: "<script>alert(1)</script>", LastPoll: time.Now(), PollError: "no route to host",
		Plan: &planner.Plan{Commit: "c1", Workloads: []planner.WorkloadPlan{{Ref: planner.Ref{Kind: "Deployment", Name: "web"}}}},
		Note: &applier.Note{V: 1, Commit: "c1", Cluster: "prod", State: planner.Failed}}}
	page := get(t, loop, "GET", "/").Body.String()
	for _, want := range []string{"deployment/web", "failed", "no route to host", "&lt;script&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script>") {
		t.Errorf("the page runs a commit's subject:\n%s", page)
	}
	var status map[string]any
	if err := json.Unmarshal(get(t, loop, "GET", "/status.json").Body.Bytes(), &status); err != nil || status["commit"] != "c1" || status["plan"] == nil || status["note"] == nil {
		t.Errorf("status.json is %v, error %v; want commit, plan and note", status, err)
	}
	if got := get(t, loop, "POST", "/"); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST /: %d; want %d", got.Code, http.StatusMethodNotAllowed)
	}
	if got := get(t, fakeLoop{}, "GET", "/"); got.Code != http.StatusOK {
		t.Errorf("GET / before the first commit: %d; want %d", got.Code, http.StatusOK)
	}
}

func TestMetricsCountRequestsAndNameTheState(t *testing.T) {
	loop := fakeLoop{status: poller.Status{LastPoll: time.Unix(1000, 0), Plan: &planner.Plan{State: planner.Failed}}}
	text := get(t, loop, "GET", "/metrics").Body.String()
	for _, want := range []string{
		`situ_api_requests_total{verb="get"} 3`, `situ_api_requests_total{verb="patch"} 1`, "situ_api_watches_total 2",
		"situ_last_poll_timestamp_seconds 1000", `situ_state{state="failed"} 1`, `situ_drifted_pods 0`, `situ_state{state="settled"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("metrics have no %q:\n%s", want, text)
		}
	}
}
