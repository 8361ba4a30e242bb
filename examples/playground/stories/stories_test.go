package stories

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestOnSimulatedNodes(t *testing.T) {
	g := onSimulatedNodes(t)
	t.Run("stories", func(t *testing.T) { testscript.Run(t, tell(t.Context(), g, "both", "simulated")) })
	t.Run("crashes", func(t *testing.T) { crashes(t, g) })
}

func TestOnARealNode(t *testing.T) {
	g := onARealNode(t)
	t.Run("stories", func(t *testing.T) { testscript.Run(t, tell(t.Context(), g, "both", "node")) })
}
