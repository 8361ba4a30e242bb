package planner

import "slices"

// A ReplicaSet makes what is missing from its own template, and knows no
// partition. So, where a partition keeps pods at the template of before, situ
// chooses which of the two it has:
//
//	pods of the old template are missing      the old one
//	a pod is to be made anew, or a paused     the new one: what takes its place
//	workload has too few                      must not be old again
//	else                                      the old one: a pod that takes the
//	                                          place of a new one is updated as
//	                                          any other, while nothing would
//	                                          bring one back that took the place
//	                                          of an old one
//
// The last case holds for all of an update in place, and between updates. In the
// others a pod may die at the wrong moment, and what takes its place is new
// where it should be old: as long as that pod serves nobody, it is deleted.

// aim is what a ReplicaSet will make pods from.
type aim struct {
	template Template
	label    string // its revision label, "" as before situ came
	kept     string // the revision that the partition keeps, "" if none
	old      bool   // the template is that one, not Git's
}

func (s *replicaSet) aim(r *rollout) aim {
	kept, label := s.kept(r)
	switch {
	case s.home(r) && r.current() < len(r.cases):
		return aim{template: r.want, label: s.label(r), kept: s.keptLabel()}
	case kept == nil:
		return aim{template: r.want, label: s.label(r)}
	case !s.bearsOld(r):
		return aim{template: r.want, label: s.label(r), kept: label}
	case same(s.template(), kept):
		return aim{template: kept, label: s.revision(), kept: label, old: true}
	}
	return aim{template: kept, label: label, kept: label, old: true}
}

func (s *replicaSet) keptLabel() string { return s.object.GetAnnotations()[AnnotationKeptRevision] }

// kept is the template that the partition keeps, nil if it keeps none: the one
// before the first commit that the partition was there for, however many came
// after it.
func (s *replicaSet) kept(r *rollout) (kept Template, label string) {
	if r.settings.Partition == nil || resolvePartition(r.settings.Partition, s.size(r)) == 0 {
		return nil, ""
	}
	if before := s.recorded(s.keptLabel()); s.keptLabel() != "" && before.known {
		if kept = templateOf(before.from); same(kept, r.want) {
			return nil, ""
		}
		return kept, s.keptLabel()
	}
	if same(s.template(), r.want) {
		return nil, ""
	}
	if label = s.revision(); label == "" {
		label = revision(s.template())
	}
	return s.template(), label
}

// home: the commit wants the very template that the partition keeps, so there is
// nothing to keep pods from.
func (s *replicaSet) home(r *rollout) bool {
	before := s.recorded(s.keptLabel())
	return s.keptLabel() != "" && before.known && same(templateOf(before.from), r.want)
}

// size is how many pods there will be.
func (s *replicaSet) size(r *rollout) int {
	if r.foreignReplicas() {
		return s.live()
	}
	return numberAt(r.proof.Object.Object, 1, "spec", "replicas")
}

// bearsOld decides which template missing pods are made from.
func (s *replicaSet) bearsOld(r *rollout) bool {
	size := s.size(r)
	keep := resolvePartition(r.settings.Partition, size)
	old := len(r.cases) - r.current()
	if old < keep {
		return true
	}
	if r.replacesNew() {
		return false
	}
	return (old == keep && len(r.cases) >= size) || !s.bearsNew(r)
}

// replacesNew: a pod of the new template goes that somebody asks for.
func (r *rollout) replacesNew() bool {
	return slices.ContainsFunc(r.cases, func(c podCase) bool { return c.fresh && r.ends(&c) && !c.departs })
}

// bearsNew: what is missing now, or after this round, must not be old.
func (s *replicaSet) bearsNew(r *rollout) bool {
	if r.settings.keeps() != "" {
		return true
	}
	for i := range r.cases {
		if c := &r.cases[i]; !c.current && c.verdict == Recreate && (!c.asked || c.fresh) {
			return true
		}
	}
	return false
}

// bringBack takes fresh pods of the new template for outdated, if they are in the
// place of old ones that the partition keeps. One that serves already stays: a
// partition that was raised takes nothing back either.
func (s *replicaSet) bringBack(r *rollout) {
	if kept, _ := s.kept(r); kept == nil {
		return
	}
	short := r.budget.Partition - (len(r.cases) - r.current())
	surplus := min(short, r.current()-(r.budget.Replicas-r.budget.Partition))
	for i := range r.cases {
		c := &r.cases[i]
		if surplus <= 0 {
			return
		}
		if c.current && !c.progress.available && c.mark.Version == 0 {
			c.current = false
			c.recreate(Reason{Rule: "partition", Text: "it took the place of a pod that the partition keeps at the old template"})
			surplus--
		}
	}
}
