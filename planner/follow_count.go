package planner

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// wish is what a followed workload asks of its rollout, and how its controller counts.
type wish struct {
	kind        string
	update      UpdateType
	written     string // the update type as people of that kind know it
	onDelete    bool
	paused      bool
	partition   *Amount
	unavailable *Amount
	surge       *Amount
	minReady    time.Duration
}

// wishOf reads the fields of any version of a kind.
func wishOf(ref Ref, object map[string]any) wish {
	strategy := mapAt(object, "spec", "updateStrategy")
	rolling := mapAt(strategy, "rollingUpdate")
	kind := textAt(strategy, "type")
	policy := textAt(rolling, "podUpdatePolicy")
	seconds := numberAt(object, 0, "spec", "minReadySeconds")
	switch {
	case ref.Kind == "DaemonSet":
		policy = textAt(rolling, "rollingUpdateType")
	case ref.Kind == "StatefulSet":
		seconds = numberAt(rolling, seconds, "minReadySeconds")
	case strings.HasSuffix(ref.APIVersion, "/v1alpha1"): // a CloneSet of this version has no level between
		rolling, policy = strategy, kind
	}
	w := wish{
		kind: ref.Kind, update: ReCreate, written: policy, onDelete: kind == "OnDelete", paused: at(rolling, "paused") == true,
		partition: amountAt(rolling, "partition"), unavailable: amountAt(rolling, "maxUnavailable"), surge: amountAt(rolling, "maxSurge"),
		minReady: time.Duration(seconds) * time.Second,
	}
	if policy == string(InPlaceIfPossible) || policy == string(InPlaceOnly) {
		w.update = UpdateType(policy)
	}
	if w.written == "" || w.onDelete {
		w.written = map[string]string{"DaemonSet": "Standard"}[ref.Kind]
	}
	if w.written == "" {
		w.written = string(ReCreate)
	}
	return w
}

// count is OpenKruise's arithmetic, which differs from kind to kind.
//
//	CloneSet      partition up; maxUnavailable 20%, up, but down beside a surge
//	StatefulSet   maxUnavailable 1, down and at least 1
//	DaemonSet     partition down; maxUnavailable 1, up
func (w wish) count(replicas, available int) Budget {
	b := Budget{Replicas: replicas, Unavailable: max(0, replicas-available)}
	b.Partition = resolvePartition(w.partition, replicas)
	promise, up, floor := w.unavailable, true, 0
	switch w.kind {
	case "CloneSet":
		up = w.surge == nil || resolve(w.surge, replicas, true) == 0
		if promise == nil {
			promise = &Amount{Value: 20, Percent: true}
		}
	case "StatefulSet":
		up, floor = false, 1
	case "DaemonSet":
		b.Partition = min(replicas, resolve(w.partition, replicas, false))
		if w.surge == nil || w.surge.Value == 0 {
			floor = 1
		}
	}
	if promise == nil {
		promise = &Amount{Value: 1}
		if w.surge != nil && w.surge.Value > 0 {
			promise = &Amount{}
		}
	}
	b.MaxUnavailable = max(floor, resolve(promise, replicas, up))
	b.Room = max(0, b.MaxUnavailable-b.Unavailable)
	b.Text = fmt.Sprintf("as OpenKruise counts: %d wanted, maxUnavailable %s is %d, %d unavailable: room for %d", replicas, promise, b.MaxUnavailable, b.Unavailable, b.Room)
	if w.partition != nil {
		b.Text += fmt.Sprintf("; partition %s keeps %d", w.partition, b.Partition)
	}
	return b
}

// resolve is a number of pods, or a share of them rounded up or down.
func resolve(a *Amount, of int, up bool) int {
	switch {
	case a == nil:
		return 0
	case !a.Percent:
		return a.Value
	case up:
		return (of*a.Value + 99) / 100
	}
	return of * a.Value / 100
}

// before is the order of OpenKruise's updates: of a StatefulSet by descending
// ordinal, of a DaemonSet by descending node name, else unavailable and young first.
func (f *follower) before(a, b *podCase) bool {
	switch f.manifest.Kind {
	case "StatefulSet":
		return ordinalOf(a.pod.Name) > ordinalOf(b.pod.Name)
	case "DaemonSet":
		return a.pod.Spec.NodeName > b.pod.Spec.NodeName
	}
	return youngestFirst(a, b)
}

func ordinalOf(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil {
		return -1
	}
	return n
}

// schedule predicts each outdated pod's turn.
func (f *follower) schedule() {
	f.stopped = f.firstBroken()
	switch {
	case f.refused():
		keepAll(f.rollout, "refused")
	case f.wish.onDelete:
		keepAll(f.rollout, "updateStrategy OnDelete: replaced when somebody deletes it")
	case f.wish.paused:
		keepAll(f.rollout, "paused")
	case f.manifest.Kind == "StatefulSet":
		f.keepOrdinals()
	default:
		f.keepPartition()
	}
	room, later := f.budget.Room, 0
	for i := range f.cases {
		c := &f.cases[i]
		switch {
		case c.current || c.kept != "":
		case !c.progress.available:
			c.turn = 1
		case room > 0:
			c.turn = 1
			room--
		default:
			c.turn = 2 + later/max(1, f.budget.MaxUnavailable)
			later++
		}
	}
}

// keepOrdinals keeps the pods below the partition.
func (f *follower) keepOrdinals() {
	start := numberAt(f.proof.Object.Object, 0, "spec", "ordinals", "start")
	for i := range f.cases {
		if c := &f.cases[i]; !c.current && ordinalOf(c.pod.Name)-start < f.budget.Partition {
			c.kept = keptByPartition
		}
	}
}
