package planner

import "time"

// Decide plans a commit against a snapshot: what it means for every object and
// every pod, and what to do about it now.
func Decide(commit Commit, snap Snapshot) Plan {
	plan := Plan{Commit: commit.ID, Problems: commit.Problems}
	coming, pulls := comingWith(commit), newPulls(snap)
	var sets []int // SidecarSets are planned last: what they may do depends on the others
	for _, m := range commit.Manifests {
		if IsFollowed(m.Ref) {
			w := planFollowed(commit, m, snap, coming, &plan.Wake)
			w.keepOut(commit, snap.Live[m.Ref].Object)
			plan.Workloads = append(plan.Workloads, w)
			continue
		}
		if IsWorkload(m.Ref) {
			w := planWorkload(commit, m, snap, coming, pulls, &plan.Wake)
			w.keepOut(commit, snap.Live[m.Ref].Object)
			plan.Workloads = append(plan.Workloads, w)
			continue
		}
		o := planObject(commit, m, snap, coming)
		o.keepOut(commit, snap.Live[m.Ref].Object)
		plan.Objects = append(plan.Objects, o)
		if m.Hosting != nil && m.Hosting.Sidecars != nil {
			sets = append(sets, len(plan.Workloads))
			plan.Workloads = append(plan.Workloads, WorkloadPlan{Ref: m.Ref})
		}
	}
	plan.planSets(commit, snap, pulls, sets)
	plan.awaitSets(commit, snap)
	pulls.tidy(&plan)
	pulls.tidyLeft(&plan, commit, snap)
	sortObjects(plan.Objects)
	if plan.waitsForOthers() {
		plan.wakeAt(snap.Now.Add(retryMissing))
	}
	plan.State = plan.worst()
	return plan
}

// planSets fills in the plans of SidecarSets, one after the other.
func (p *Plan) planSets(commit Commit, snap Snapshot, pulls *pulls, at []int) {
	for _, i := range at {
		for _, m := range commit.Manifests {
			if m.Ref == p.Workloads[i].Ref {
				p.Workloads[i] = planSidecars(commit, m, snap, pulls, p)
			}
		}
	}
}

// retryMissing is how soon a kind or namespace that was not there is looked for
// again: nothing in the cluster tells when it comes.
const retryMissing = 15 * time.Second

// worst is the state of the whole: as long as something moves, the commit moves.
func (p *Plan) worst() State {
	seen := map[State]bool{}
	for i := range p.Workloads {
		seen[p.Workloads[i].State] = true
	}
	for i := range p.Objects {
		seen[p.Objects[i].State] = true
	}
	if len(p.Problems) > 0 {
		seen[Failed] = true
	}
	for _, state := range []State{Progressing, Waiting, Failed, Held} {
		if seen[state] {
			return state
		}
	}
	return Settled
}

func (p *Plan) waitsForOthers() bool {
	for i := range p.Objects {
		if p.Objects[i].State == Waiting {
			return true
		}
	}
	for i := range p.Workloads {
		if p.Workloads[i].State == Waiting {
			return true
		}
	}
	return false
}

// wakeAt keeps the earliest moment.
func (p *Plan) wakeAt(t time.Time) {
	if p.Wake.IsZero() || t.Before(p.Wake) {
		p.Wake = t
	}
}

// Empty reports whether the plan changes nothing at all.
func (p *Plan) Empty() bool {
	for i := range p.Workloads {
		w := &p.Workloads[i]
		if w.Create || w.Verdict != Keep || len(w.Steps) > 0 {
			return false
		}
	}
	for i := range p.Objects {
		if p.Objects[i].Verb != None {
			return false
		}
	}
	return true
}

// coming are the namespaces and kinds that the commit itself brings.
type coming struct {
	namespaces map[string]bool
	groupKinds map[string]bool // "group/Kind"
}

func comingWith(commit Commit) coming {
	c := coming{namespaces: map[string]bool{}, groupKinds: map[string]bool{}}
	for _, m := range commit.Manifests {
		switch m.Kind {
		case "Namespace":
			c.namespaces[m.Name] = true
		case "CustomResourceDefinition":
			c.groupKinds[textAt(m.Object, "spec", "group")+"/"+textAt(m.Object, "spec", "names", "kind")] = true
		}
	}
	return c
}

// brings reports whether what a manifest misses comes with the same commit.
func (c coming) brings(m Manifest) bool {
	return c.namespaces[m.Namespace] || c.groupKinds[m.Group()+"/"+m.Kind]
}
