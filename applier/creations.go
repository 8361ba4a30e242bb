package applier

import (
	"sync"

	"situ.gitops/planner"
)

// creations are those of one round. Several units may need the same object, such
// as the image on a node: the first to come creates it, and its answer is theirs.
type creations struct {
	mu    sync.Mutex
	begun map[planner.Ref]*creation
}

type creation struct {
	ended chan struct{}
	err   error // once ended is closed
}

func newCreations() *creations { return &creations{begun: map[planner.Ref]*creation{}} }

// do performs an action, unless it creates what another one has created.
func (c *creations) do(action planner.Action, perform func() error) error {
	if action.Mode != planner.CreateOnly || action.DryRun {
		return perform()
	}
	c.mu.Lock()
	one, begun := c.begun[action.Ref]
	if !begun {
		one = &creation{ended: make(chan struct{})}
		c.begun[action.Ref] = one
	}
	c.mu.Unlock()
	if begun {
		<-one.ended // bounded as every action is
		return one.err
	}
	defer close(one.ended)
	one.err = perform()
	return one.err
}
