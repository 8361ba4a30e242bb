package planner

import "time"

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
