package applier

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Fault is a test aid: it kills the process at one chosen action, so that a
// test can walk through every single step of a rollout and prove that a crash
// there does no harm. A nil Fault does nothing.
type Fault struct {
	name  string // counts only actions of this name; "": all
	n     int    // at the n-th of them
	early bool   // right before the action, not right after it

	kill  func()
	mu    sync.Mutex
	count int
}

// ParseFault reads the text of the environment variable SITU_FAULT:
//
//	7              right after the seventh action of this process
//	before:7       right before it
//	patch:2        right after the second action called patch
//	before:patch:2 right before it
//
// An empty text gives nil.
func ParseFault(text string) (*Fault, error) {
	if text == "" {
		return nil, nil
	}
	fault := &Fault{kill: killSelf}
	rest := text
	if after, found := strings.CutPrefix(rest, "before:"); found {
		fault.early, rest = true, after
	}
	rest = strings.TrimPrefix(rest, "after:")
	if name, number, found := strings.Cut(rest, ":"); found {
		fault.name, rest = name, number
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("SITU_FAULT is %q; want [before:|after:][action name:]number", text)
	}
	fault.n = n
	return fault, nil
}

// before counts the action and says whether it is the chosen one.
func (f *Fault) before(name string) bool {
	if f == nil || f.name != "" && f.name != name {
		return false
	}
	f.mu.Lock()
	f.count++
	chosen := f.count == f.n
	f.mu.Unlock()
	if chosen && f.early {
		f.kill()
	}
	return chosen
}

// after ends the process if the action that was just performed is the chosen one.
func (f *Fault) after(chosen bool) {
	if chosen && !f.early {
		f.kill()
	}
}

// killSelf ends the process as a power cut would: nothing deferred runs.
func killSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
