package bench

import (
	"context"
	"strings"
	"testing"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/realnode"
	"situ.gitops/examples/playground/registry"
)

// Times are not judged here either: what no client may notice is.
func TestOnARealNodeBothWaysAreMeasuredAndTheGateFailsNobody(t *testing.T) {
	c, err := cluster.Start(t.Context(), cluster.Options{Log: t.Output()})
	check(t, err)
	t.Cleanup(func() { check(t, c.Stop()) })
	images, err := registry.Start(t.Context())
	check(t, err)
	t.Cleanup(func() { check(t, images.Close()) })
	node, err := realnode.Join(t.Context(), c, images)
	check(t, err)
	t.Cleanup(func() { check(t, node.Stop(context.WithoutCancel(t.Context()))) })

	report, err := RunReal(t.Context(), c, Options{Repeat: 1, Dir: t.TempDir(), Log: t.Output()})
	check(t, err)
	var text strings.Builder
	check(t, report.Print(&text))
	t.Logf("\n%s", &text)
	for _, figure := range report.Missed() {
		t.Errorf("missed:%s", figure)
	}
	for _, s := range services {
		if !strings.Contains(text.String(), s.title) {
			t.Errorf("the report has no %q", s.title)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
