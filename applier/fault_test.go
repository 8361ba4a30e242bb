package applier

import (
	"fmt"
	"testing"

	"situ.gitops/planner"
)

func TestAFaultKillsAtItsActionAndNowhereElse(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"2", "done 2"},
		{"after:2", "done 2"},
		{"before:2", "done 1"},
		{"patch:1", "done 2"},
		{"before:patch:2", "done 2"},
		{"unpause:1", "done 4"},
		{"9", "never"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			fake := newFakeCluster()
			fault, err := ParseFault(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got := "never"
			fault.kill = func() { got = fmt.Sprintf("done %d", len(fake.done)) }
			a := newApplier(fake, nil)
			a.Fault = fault
			a.carryOut(t.Context(), web(planner.Progressing, step("pause"), step("patch"), step("patch"), step("unpause")), newRetries())
			if got != tt.want {
				t.Errorf("SITU_FAULT=%s kills with %s; want %s", tt.text, got, tt.want)
			}
		})
	}
}

func TestAFaultThatCannotBeReadIsAnError(t *testing.T) {
	for _, text := range []string{"x", "0", "patch:", "before:", "before:patch:x", "-1"} {
		if _, err := ParseFault(text); err == nil {
			t.Errorf("ParseFault(%q): no error", text)
		}
	}
	if fault, err := ParseFault(""); fault != nil || err != nil {
		t.Errorf("ParseFault of nothing: %v, %v; want none", fault, err)
	}
}
