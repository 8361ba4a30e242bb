package cluster

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"situ.gitops/planner"
)

// A proof of something that is missing, or of a refusal, can become wrong without
// an event: it is asked for again after a while.
const (
	refusalHolds = 30 * time.Second
	missingHolds = 500 * time.Millisecond
	missingMost  = 30 * time.Second
)

// basis is all that a proof depends on. Equal basis, equal answer.
type basis struct {
	manifest [sha256.Size]byte
	uid      types.UID
	state    string // generation, or resourceVersion for kinds without
	digest   uint64
	adopt    bool
	served   bool
}

// basisOf names a manifest and the state of its object. A bare pod's proof does
// not depend on the pod, only on its being there.
func basisOf(t target, digest [sha256.Size]byte) basis {
	b := basis{manifest: digest, served: t.served}
	if t.live == nil {
		return b
	}
	b.uid, b.adopt = t.live.GetUID(), t.live.adopt
	switch generation := t.live.GetGeneration(); {
	case t.live.pod != nil:
	case generation != 0:
		b.state, b.digest = fmt.Sprint(generation), t.live.digest
	default:
		b.state = t.live.GetResourceVersion()
	}
	return b
}

// answer is what the server said about one manifest, and the object that it has.
type answer struct {
	basis    basis
	wanted   map[string]any // the manifest's object that basis.manifest was taken of
	proof    planner.Proof
	askAgain time.Time // zero: only when the basis changes
	missed   int       // how often in a row it was missing

	live     *unstructured.Unstructured // of kinds that the caches have the metadata of
	version  string                     // of live
	health   planner.Health
	vanished bool // between the cache and the question
}

// proofs remembers the answers of the last snapshot.
type proofs struct {
	mask    mask
	mu      sync.Mutex
	answers map[planner.Ref]answer
}

func newProofs() *proofs { return &proofs{mask: newMask(), answers: map[planner.Ref]answer{}} }

func (p *proofs) answer(ref planner.Ref) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers[ref]
}

func (p *proofs) keep(ref planner.Ref, answer answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[ref] = answer
}

// impatient lets everything that was missing be asked for at once.
func (p *proofs) impatient() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ref, answer := range p.answers {
		if answer.proof.Missing {
			answer.askAgain, answer.missed = time.Unix(0, 1), 0
			p.answers[ref] = answer
		}
	}
}

// keepOnly forgets what no target needs, and says when to ask again for what is
// missing; zero: never.
func (p *proofs) keepOnly(targets []target) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := make(map[planner.Ref]answer, len(targets))
	var next time.Time
	for _, t := range targets {
		answer := p.answers[t.manifest.Ref]
		kept[t.manifest.Ref] = answer
		if answer.proof.Missing && (next.IsZero() || answer.askAgain.Before(next)) {
			next = answer.askAgain
		}
	}
	p.answers = kept
	return next
}

// digest of a manifest. The same map is the same manifest: nobody edits it.
func (a answer) digest(object map[string]any) ([sha256.Size]byte, error) {
	if a.wanted != nil && sameMap(a.wanted, object) {
		return a.basis.manifest, nil
	}
	text, err := json.Marshal(object)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("write as JSON: %w", err)
	}
	return sha256.Sum256(text), nil
}

func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// holds says whether an answer still answers.
func (a answer) holds(b basis, now time.Time) bool {
	return a.basis == b && (a.askAgain.IsZero() || now.Before(a.askAgain))
}
