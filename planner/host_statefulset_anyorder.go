package planner

// stepsInAnyOrder: a wall of ordinals cannot let single pods through, and a pod
// that is deleted below it would come back as it was. So the controller keeps off
// until all pods are updated, as a DaemonSet's does.
func (s *statefulSet) stepsInAnyOrder(r *rollout) []Step {
	r.native = false
	unseen := len(r.cases) < s.replicas() && !r.renewing
	if r.current() == len(r.cases) && !unseen {
		if s.hold && !counted(r, "updatedReplicas", "replicas") {
			r.waits = "for the StatefulSet's controller to count the patched pods"
			return steps(s.ownStrategy(r), r.applyOnDelete(true))
		}
		return steps(r.applyOnDelete(false))
	}
	if apply := r.applyOnDelete(true); apply != nil {
		r.waits = "for the StatefulSet's controller to see its new template"
		return steps(s.ownStrategy(r), apply)
	}
	if !s.sees(r) {
		return nil
	}
	return steps(r.podStep(s.patch(r)))
}

// ownStrategy comes before OnDelete, which the server refuses beside what it has
// filled in under rollingUpdate. Only what situ has applied goes away when situ
// applies it no longer, so it applies all of that once, with a partition above
// all pods.
func (s *statefulSet) ownStrategy(r *rollout) Step {
	path := []string{"spec", "updateStrategy"}
	live := mapAt(s.object.Object, path...)
	if live["rollingUpdate"] == nil {
		return nil
	}
	body := with(r.applyBody(), live, path...)
	body = with(body, int64(s.top()), append(path, "rollingUpdate", "partition")...)
	body = with(body, "in-place", holdPath...)
	return Step{r.apply("apply", body, "apply "+r.manifest.Ref.String()+", with the partition above all pods")}
}
