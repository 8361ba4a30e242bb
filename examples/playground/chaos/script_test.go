package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// script is one sequence. The same seed gives the same script.
type script struct {
	seed    uint64
	kind    string
	program bool // lives are the real program, else the same wiring in this process
	manner  manner
	steps   []step
}

// step is one thing that happens.
type step struct {
	id   int // tells its values from those of others
	act  string
	n    int // how much, which one
	pace int // writes of situ until the next step; it also comes once the commit has ended
}

func (s step) String() string {
	return fmt.Sprintf("%d: %s %d, then %d writes", s.id, s.act, s.n, s.pace)
}

func (s script) String() string {
	lives := "situ in this process"
	if s.program {
		lives = "the program situ"
	}
	lines := []string{fmt.Sprintf("seed %d: %s %+v, %s", s.seed, s.kind, s.manner, lives)}
	for _, step := range s.steps {
		lines = append(lines, "  "+step.String())
	}
	return strings.Join(lines, "\n")
}

// without is the script with some of its steps left out.
func (s script) without(from, to int) script {
	shorter := s
	shorter.steps = append(append([]step(nil), s.steps[:from]...), s.steps[to:]...)
	return shorter
}

// chances are the steps that may happen, and how often.
var chances = []struct {
	act    string
	weight int
	most   int // n is from 1 to most
}{
	{"image-app", 5, 1},
	{"image-side", 2, 1},
	{"images", 4, 1},
	{"label", 2, 1},
	{"note", 2, 1},
	{"config", 4, 1},
	{"env", 3, 1},
	{"cpu", 3, 1},
	{"several", 3, 1},
	{"replicas", 2, 6},
	{"free", 2, 1},
	{"partition", 2, 3},
	{"crash", 1, 1},
	{"missing", 1, 1},
	{"revert", 4, 3},
	{"kill", 3, 1},
	{"kill-before", 5, 8},
	{"kill-after", 5, 8},
	{"delete-pod", 2, 6},
	{"scale", 2, 6},
	{"silence", 1, nodesPerStage},
	{"lose", 1, nodesPerStage},
	{"return", 3, 1},
	{"refuse", 2, 4},
	{"conflict", 2, 4},
	{"lose-answer", 2, 3},
	{"git-out", 2, 6},
	{"touch", 2, 6},
	{"slow", 2, 3},
	{"quick", 2, 1},
	{"settle", 10, 1},
}

// newScript draws a script.
func newScript(seed uint64) script {
	draw := rand.New(rand.NewPCG(seed, 1))
	s := script{seed: seed, kind: kinds[seed%uint64(len(kinds))], program: draw.IntN(5) == 0}
	s.manner = manner{gate: draw.IntN(4) == 0, minReady: max(0, draw.IntN(4)-2), revert: draw.IntN(3) == 0, restart: draw.IntN(4) == 0}
	total := 0
	for _, chance := range chances {
		total += chance.weight
	}
	for id := range 4 + draw.IntN(7) {
		at := draw.IntN(total)
		for _, chance := range chances {
			if at -= chance.weight; at < 0 {
				s.steps = append(s.steps, step{id: id + 1, act: chance.act, n: 1 + draw.IntN(chance.most), pace: draw.IntN(7)})
				break
			}
		}
	}
	return s
}

// commits are the steps that change the wish.
var commits = map[string]func(w *wish, s step){
	"image-app":  func(w *wish, s step) { w.app = s.tag("v") },
	"image-side": func(w *wish, s step) { w.side = s.tag("v") },
	"images":     func(w *wish, s step) { w.app, w.side = s.tag("v"), s.tag("v") },
	"label":      func(w *wish, s step) { w.tier = s.tag("t") },
	"note":       func(w *wish, s step) { w.note = s.tag("n") },
	"config":     func(w *wish, s step) { w.config = s.tag("c") },
	"env":        func(w *wish, s step) { w.flag = s.tag("f") },
	"cpu":        func(w *wish, s step) { w.cpu = 100 + s.id },
	"several": func(w *wish, s step) {
		w.app, w.config, w.tier, w.cpu = s.tag("v"), s.tag("c"), s.tag("t"), 100+s.id
	},
	"replicas": func(w *wish, s step) { w.replicas, w.free = s.n, false },
	"partition": func(w *wish, s step) {
		if w.app = s.tag("v"); w.kind != "Pod" {
			w.partition = s.n
		}
	},
	"crash":   func(w *wish, s step) { w.app = s.tag("crash-") },
	"missing": func(w *wish, s step) { w.side = s.tag("missing-") },
}

func (s step) tag(prefix string) string { return fmt.Sprintf("%s%d", prefix, s.id) }
