package main

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// podRow is a line of the demo's tables: before or after, the pod, its UID.
var podRow = regexp.MustCompile(`(?m)^  (before|after) +(\S+) +([0-9a-f]{8}) +(.*)$`)

func TestDemoShowsPodsKeptButForTheirEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	out, err := command(t.Context(), "demo", "--once", "--dir", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("demo: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	_, text, _ := strings.Cut(string(out), "\nCommit 1 of 5")
	commits := strings.Split(text, "\nCommit ")
	for i, tt := range []struct {
		kept  bool
		shows []string
	}{
		{true, []string{"+        image: registry.playground/app:v2", "restart app in place", "4/4 pods, settled", "app:v2, 1 restart ", "sidecar:v1, 0 restarts", "inPlace: 4"}},
		{true, []string{"+        team: checkout", "metadata, nothing restarts", "no container was restarted", "metadata: 4"}},
		{true, []string{"+        app-config: festive", "[env-from-metadata]", "app:v2@sha256:", "restarted once in each: app", "inPlace: 4"}},
		{false, []string{"+          value: hello", "env[APP_GREETING].value", "4 new pods", "recreated: 4"}},
		{true, []string{"statefulset/cache in shop  restart app in place", "cache-2", "3/3 pods, settled", "inPlace: 3"}},
	} {
		if i >= len(commits) {
			t.Fatalf("the demo shows %d commits, want 5", len(commits))
		}
		for _, want := range tt.shows {
			if !strings.Contains(commits[i], want) {
				t.Errorf("commit %d shows no %q", i+1, want)
			}
		}
		before, after := uids(commits[i], "before"), uids(commits[i], "after")
		if len(before) == 0 || len(before) != len(after) {
			t.Errorf("commit %d: %d pods before, %d after; want as many", i+1, len(before), len(after))
		}
		if tt.kept && !maps.Equal(before, after) {
			t.Errorf("commit %d: pods before %v, after %v; want the same UIDs", i+1, before, after)
		}
		for _, uid := range slices.Collect(maps.Values(after)) {
			if !tt.kept && slices.Contains(slices.Collect(maps.Values(before)), uid) {
				t.Errorf("commit %d: UID %s is there before and after; want new pods", i+1, uid)
			}
		}
	}
}

// uids are the UIDs in a table, by pod.
func uids(text, when string) map[string]string {
	found := map[string]string{}
	for _, row := range podRow.FindAllStringSubmatch(text, -1) {
		if row[1] == when {
			found[row[2]] = row[3]
		}
	}
	return found
}
