package stories

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestOnSimulatedNodes(t *testing.T) {
	g := onSimulatedNodes(t)
	t.Run("stories", func(t *testing.T) { testscript.Run(t, tell(t.Context(), g, "both", "simulated")) })
	t.Run("crashes", func(t *testing.T) { t.Parallel(); crashes(t, g) })
	t.Run("crashes on a pod's way", func(t *testing.T) { t.Parallel(); wayCrashes(t, g) })
	t.Run("crashes around hooks", func(t *testing.T) { t.Parallel(); hookCrashes(t, g) })
	t.Run("a settled source asks nothing", func(t *testing.T) { aSettledSourceAsksNothing(t, g) })
}

func TestOnARealNode(t *testing.T) {
	g := onARealNode(t)
	t.Run("side by side", func(t *testing.T) {
		t.Run("crashes", func(t *testing.T) { t.Parallel(); crashes(t, g) })
		t.Run("back-offs", func(t *testing.T) { t.Parallel(); backOffs(t, g) })
		t.Run("stories", func(t *testing.T) { t.Parallel(); testscript.Run(t, tell(t.Context(), g, "both", "node")) })
	})
}
