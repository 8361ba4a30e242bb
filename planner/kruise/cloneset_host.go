package kruise

import (
	"slices"
	"time"

	"situ.gitops/planner"
)

const (
	onDelete      = "OnDelete"
	rollingUpdate = "RollingUpdate"
)

// podUpdates are the ways to bring a pod to a new template.
var podUpdates = []string{string(planner.ReCreate), string(planner.InPlaceIfPossible), string(planner.InPlaceOnly)}

// checkCloneSet finds values that no server of the kind would take.
func checkCloneSet(m planner.Manifest) []Mistake {
	v := viewCloneSet(m)
	mistakes := oneOf(v.update, v.typeAt, v.updates...)
	mistakes = append(mistakes, badAmount(v.rolling.Partition, under(v.at, "partition")...)...)
	mistakes = append(mistakes, badAmount(v.rolling.MaxUnavailable, under(v.at, "maxUnavailable")...)...)
	mistakes = append(mistakes, badPriority(v.rolling.PriorityStrategy, under(v.at, "priorityStrategy"))...)
	mistakes = append(mistakes, badScatter(v.rolling.ScatterStrategy, under(v.at, "scatterStrategy"))...)
	if g := v.rolling.InPlaceUpdateStrategy; g != nil {
		mistakes = append(mistakes, outside(&g.GracePeriodSeconds, 0, nobound, under(v.at, "inPlaceUpdateStrategy", "gracePeriodSeconds"))...)
	}
	mistakes = append(mistakes, outside(v.ProgressDeadlineSeconds, 1, nobound, []string{"spec", "progressDeadlineSeconds"})...)
	mistakes = append(mistakes, badSurge(v)...)
	mistakes = append(mistakes, badClaims(v.VolumeClaimTemplates)...)
	if labels := under([]string{"spec", "template", "metadata", "labels"}, planner.LabelDelete); mapAt(m.Object, labels[:4]...)[planner.LabelDelete] != nil {
		mistakes = append(mistakes, Mistake{Path: labels, Text: "asks for every pod to be deleted, and each that takes its place; remove it, and label the one pod that is to go"})
	}
	return append(mistakes, badLifecycle(v.Lifecycle)...)
}

func under(path []string, names ...string) []string { return slices.Concat(path, names) }

// hostCloneSet makes the ReplicaSet of the same name.
func hostCloneSet(m planner.Manifest) []planner.Manifest {
	v := viewCloneSet(m)
	as := planner.Ref{APIVersion: "apps/v1", Kind: "ReplicaSet"}
	spec := keep(mapAt(m.Object, "spec"), "replicas", "selector", "template", "minReadySeconds")
	claims, _ := mapAt(m.Object, "spec")["volumeClaimTemplates"].([]any)
	spec["template"] = claimed(mapAt(spec, "template"), claims)
	asks := v.asks()
	var notReady bool
	asks.Hooks, notReady = hooks(v.Lifecycle)
	if asks.Grace > 0 || notReady {
		spec["template"] = gated(mapAt(spec, "template"))
	}
	return []planner.Manifest{hosted(m, as, spec, asks)}
}

// asks is what the planner does itself: a ReplicaSet has no words for it.
func (v cloneSetView) asks() planner.Settings {
	asks := planner.DefaultSettings()
	asks.Update = planner.ReCreate
	switch v.update {
	case "":
	case onDelete:
		asks.OnDelete = true
	default:
		asks.Update, asks.Explicit = planner.UpdateType(v.update), true
	}
	asks.Partition = amount(v.rolling.Partition)
	asks.MaxUnavailable = &planner.Amount{Value: 20, Percent: true}
	if v.rolling.MaxUnavailable != nil {
		asks.MaxUnavailable = amount(v.rolling.MaxUnavailable)
	}
	asks.MaxSurge, asks.Delete = amount(v.rolling.MaxSurge), v.scale.PodsToDelete
	asks.Paused = v.rolling.Paused
	asks.Priority = priority(v.rolling.PriorityStrategy)
	asks.Scatter = scatter(v.rolling.ScatterStrategy)
	asks.Grace = grace(v.rolling.InPlaceUpdateStrategy)
	if v.ProgressDeadlineSeconds != nil {
		asks.Deadline = time.Duration(*v.ProgressDeadlineSeconds) * time.Second
	}
	if v.RevisionHistoryLimit != nil {
		limit := int(*v.RevisionHistoryLimit)
		asks.History = &limit
	}
	return asks
}
