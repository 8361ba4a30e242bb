package planner

import (
	"fmt"
	"slices"
)

// statusCounts are the names under which a kind's controller tells how far it is.
type statusCounts struct{ revision, updated, ready string }

var countsOfKinds = map[string]statusCounts{
	"CloneSet":    {"updateRevision", "updatedReplicas", "updatedReadyReplicas"},
	"StatefulSet": {"updateRevision", "updatedReplicas", "updatedReadyReplicas"},
	"DaemonSet":   {revision: "daemonSetHash", updated: "updatedNumberScheduled"},
}

func (f *follower) counts() statusCounts { return countsOfKinds[f.manifest.Kind] }

// failures are conditions by which OpenKruise says that it cannot go on.
var failures = []string{"FailedScale", "FailedUpdate", "FailedCreatePod", "FailedUpdatePod"}

// follow reads the status: what it waits for, and whether OpenKruise gave up.
func (f *follower) follow() {
	status := mapAt(f.live.Object.Object, "status")
	counts := f.counts()
	updated, current := numberAt(status, 0, counts.updated), f.current()
	ready := numberAt(status, current, counts.ready)
	switch {
	case !observed(f.live.Object):
		f.waits = "for OpenKruise's controller to see it"
	case f.stopped != "":
	case f.gaveUp() != "":
		f.stopped = f.gaveUp()
	case len(f.cases) > f.budget.Replicas && f.wish.surge == nil:
		f.waits = fmt.Sprintf("%d pods are more than the %d wanted", len(f.cases), f.budget.Replicas)
	case updated < current, ready < current && f.available() == len(f.cases):
		f.waits = fmt.Sprintf("for OpenKruise to count its updated pods: %d of %d, %d of them ready", updated, current, ready)
	}
}

// gaveUp is what OpenKruise says about why it stopped, "" if it has not.
func (f *follower) gaveUp() string {
	conditions, _ := at(f.live.Object.Object, "status", "conditions").([]any)
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		kind, status := textAt(condition, "type"), textAt(condition, "status")
		failed := slices.Contains(failures, kind) && status == "True"
		late := kind == "Progressing" && status == "False" && textAt(condition, "reason") == "ProgressDeadlineExceeded"
		if failed || late {
			return clip("OpenKruise: " + kind + ": " + textAt(condition, "message"))
		}
	}
	return ""
}

// followSidecars is how far the pods of other workloads have the containers of a
// SidecarSet that OpenKruise injects. situ knows which those are by its status alone.
func followSidecars(object map[string]any) (State, string) {
	status, strategy := mapAt(object, "status"), mapAt(object, "spec", "updateStrategy")
	if numberAt(status, 0, "observedGeneration") < numberAt(object, 0, "metadata", "generation") {
		return Progressing, "for OpenKruise's controller to see it"
	}
	matched, updated := numberAt(status, 0, "matchedPods"), numberAt(status, 0, "updatedPods")
	ready := numberAt(status, 0, "updatedReadyPods")
	text := fmt.Sprintf("%d of %d matched pods have it, %d of them ready", updated, matched, ready)
	switch {
	case ready < updated:
		return Progressing, text
	case updated >= matched:
		return Settled, ""
	case textAt(strategy, "type") == "NotUpdate":
		return Held, text + ": updateStrategy NotUpdate"
	case at(strategy, "paused") == true:
		return Held, text + ": paused"
	case updated >= matched-resolvePartition(amountAt(strategy, "partition"), matched):
		return Held, text + ": " + keptByPartition
	}
	return Progressing, text
}
