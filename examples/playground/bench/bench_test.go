package bench

import (
	"strings"
	"testing"

	"situ.gitops/examples/playground/cluster"
)

// Times are not judged here: the machine may be busy. What is counted is the same
// on every machine.
func TestWritesAndRequestsMeetTheirTargets(t *testing.T) {
	c, err := cluster.Start(t.Context(), cluster.Options{Nodes: 2, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	report, err := Run(t.Context(), c, Options{
		Pods: 21, Workloads: 2, Cached: 30, Gate: true, Repeat: 1, Dir: t.TempDir(), Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.Print(&text); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &text)
	for _, figure := range report.Missed() {
		if !strings.HasSuffix(figure, "situ to raw") {
			t.Errorf("missed:%s", figure)
		}
	}
	for _, want := range []string{"rollout: situ to raw", "gate: situ to raw", "API writes per pod", "settled source, 10 polls", "30 pods cached"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
}

func TestMetricsAreSummedByTheirLabels(t *testing.T) {
	text := []byte(`# TYPE requests counter
requests{verb="PATCH",resource="pods",path="a\"b"} 3
requests{verb="PATCH",resource="nodes"} 4
requests{verb="GET",resource="pods"} 1e+06
requests_other{verb="PATCH"} 50
plain 7
`)
	for _, tt := range []struct {
		name   string
		labels map[string]string
		want   int
	}{
		{"requests", map[string]string{"verb": "PATCH"}, 7},
		{"requests", map[string]string{"verb": "PATCH", "resource": "pods"}, 3},
		{"requests", map[string]string{"resource": "pods"}, 1_000_003},
		{"requests", map[string]string{"verb": "DELETE"}, 0},
		{"plain", nil, 7},
	} {
		if got, err := sum(text, tt.name, tt.labels); err != nil || got != tt.want {
			t.Errorf("sum(%s, %v) = %d, %v; want %d", tt.name, tt.labels, got, err, tt.want)
		}
	}
	if _, err := sum([]byte("requests{} many\n"), "requests", nil); err == nil {
		t.Error("sum of a metric that is no number gives no error")
	}
}

func TestMissedTargetsAreToldClearly(t *testing.T) {
	var report Report
	report.info("pods", "500")
	report.target(true, "ratio", "1.1", "at most 1.5")
	report.memory(10_000, 210<<20, 150<<20)
	var text strings.Builder
	if err := report.Print(&text); err != nil {
		t.Fatal(err)
	}
	if missed := report.Missed(); len(missed) != 1 || !strings.Contains(missed[0], "created") {
		t.Errorf("Missed = %q, want the memory while the pods were created", missed)
	}
	for _, want := range []string{"210 MB under 200 MB MISSED", "150 MB under 200 MB met", "1 of the targets were missed"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("the report has no %q:\n%s", want, &text)
		}
	}
}
