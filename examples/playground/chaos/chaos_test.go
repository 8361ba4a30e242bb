package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPromisesHoldWhateverHappens plays the scripts that were bad once, and random
// ones until its time is over. A script that fails is printed and shrunk.
func TestPromisesHoldWhateverHappens(t *testing.T) {
	first := chosen.seed
	if first == 0 {
		first = uint64(rand.Uint32())
	}
	t.Logf("the first seed is %d", first)
	over := time.Now().Add(chosen.lasting)
	var next, played atomic.Uint64
	var players sync.WaitGroup
	for range max(1, chosen.parallel) {
		players.Go(func() {
			for {
				n := int(next.Add(1) - 1)
				if t.Failed() || t.Context().Err() != nil || n >= len(onceBad)+len(kinds) && time.Now().After(over) {
					return
				}
				played.Add(1)
				if failed := playAlone(t, nth(first, n)); failed != nil {
					t.Errorf("%s", failed)
				}
			}
		})
	}
	players.Wait()
	t.Logf("%d sequences were played", played.Load())
	if failed := firstFailed.take(); failed != nil {
		shrink(t, *failed)
	}
}

// nth is a script that was bad once, or after those one that is drawn.
func nth(first uint64, n int) script {
	if n < len(onceBad) {
		return onceBad[n]
	}
	return newScript(first + uint64(n-len(onceBad)))
}

// firstFailed is the script that failed first; it is shrunk when all others have ended.
var firstFailed = &slot{}

type slot struct {
	mu     sync.Mutex
	script *script
}

func (s *slot) put(failed script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.script == nil {
		s.script = &failed
	}
}

func (s *slot) take() *script {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.script
}

// playAlone plays a script on a stage of its own, and says what was wrong.
func playAlone(t *testing.T, script script) (failure error) {
	start := time.Now()
	wrong, story, err := perform(t.Context(), &chosen, script)
	t.Logf("seed %d, %s, %d steps: %s", script.seed, script.kind, len(script.steps), time.Since(start).Round(time.Second))
	if err == nil && len(wrong) == 0 {
		if chosen.tell {
			t.Logf("%s\n%s", script, story)
		}
		return nil
	}
	firstFailed.put(script)
	return fmt.Errorf("%s\n%s\n%v\n%s", script, strings.Join(wrong, "\n"), err, story)
}

// perform plays a script; it gives what the judge has to say, what happened, and
// the error that ended it.
func perform(ctx context.Context, options *options, script script) (wrong []string, story string, err error) {
	s, err := newStage(ctx, options, script)
	if err == nil {
		err = s.play()
	}
	story = strings.Join(s.ledger.text(), "\n") + "\n" + s.judge.picture() + "\n" + strings.Join(s.log.lines(80), "\n")
	closing := s.close(context.WithoutCancel(ctx))
	return s.judge.accusations(), story, errors.Join(err, closing)
}

// shrink leaves steps out for as long as the script still fails, larger parts
// first. A failure may depend on timing, so each shorter script has some tries.
func shrink(t *testing.T, failed script) {
	const tries = 3
	options := chosen
	options.patience /= 2 // a shorter script takes less time
	over := time.Now().Add(options.shrink)
	if deadline, ok := t.Deadline(); ok && deadline.Add(-3*options.patience).Before(over) {
		over = deadline.Add(-3 * options.patience) // what was found has to be told
	}
	fails := func(s script) bool {
		for range tries {
			if t.Context().Err() != nil || time.Now().After(over) {
				return false
			}
			if wrong, _, err := perform(t.Context(), &options, s); err != nil || len(wrong) > 0 {
				return true
			}
		}
		return false
	}
	for size := max(1, len(failed.steps)/2); size > 0; size /= 2 {
		for from := 0; from+size <= len(failed.steps); {
			if shorter := failed.without(from, from+size); fails(shorter) {
				failed = shorter
				continue
			}
			from += size
		}
	}
	t.Logf("the shortest that was seen to fail within %s, each shorter one having been tried up to %d times:\n%s", options.shrink, tries, failed)
}
