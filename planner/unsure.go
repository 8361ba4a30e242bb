package planner

import (
	"slices"
	"time"
)

// sureAfter is how long a new pod may be ahead of the record that it was made from.
const sureAfter = time.Minute

// unsure names the oldest new pod whose template is not known: pods and the records of
// their templates are watched separately, so one may be seen before the other.
// It is looked at again until the given moment, and not taken for a stranger
// that must be recreated.
func (r *rollout) unsure(h host) (pod string, until time.Time) {
	for _, p := range h.pods() {
		over := p.CreationTimestamp.Add(sureAfter)
		if !r.now.Before(over) {
			continue
		}
		if m := h.made(p); m.known || m.foreign != "" {
			continue
		}
		if pod == "" || over.Before(until) || over.Equal(until) && p.Name < pod {
			pod, until = p.Name, over
		}
	}
	return pod, until
}

// renews: the controller may roll by itself. It has perhaps made pods that nobody
// has seen yet, from the template that it has had until now. They must need a new
// pod for the wanted one, too, or else they are held and looked at.
func (r *rollout) renews(a *assessor) bool {
	if r.begun() || r.settings.Update == ReCreate {
		return true
	}
	from := templateOf(r.live.Object.Object)
	return slices.ContainsFunc(changes(from, r.want), func(change Change) bool {
		ofPod := change.path[0].key == "spec" // a rule for metadata asks the live pod
		return ofPod && judge(asked{Change: change, from: from, to: r.want, served: a.served}).Verdict == Recreate &&
			!slices.ContainsFunc(r.cases, func(c podCase) bool { return satisfied(c.pod, change) })
	})
}
