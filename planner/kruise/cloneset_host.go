package kruise

import (
	"fmt"
	"slices"
	"strings"

	"situ.gitops/planner"
)

const onDelete = "OnDelete"

// checkCloneSet finds values that no server of the kind would take.
func checkCloneSet(m planner.Manifest) []Mistake {
	v := viewCloneSet(m)
	var mistakes []Mistake
	kinds := []string{"", string(planner.ReCreate), string(planner.InPlaceIfPossible), string(planner.InPlaceOnly)}
	if !slices.Contains(kinds, v.update) {
		mistakes = append(mistakes, Mistake{Path: v.typeAt, Text: fmt.Sprintf("is %q; want %s", v.update, strings.Join(kinds[1:], ", "))})
	}
	mistakes = append(mistakes, badAmount(v.rolling.Partition, under(v.at, "partition")...)...)
	mistakes = append(mistakes, badLifecycle(v.Lifecycle)...)
	mistakes = append(mistakes, badClaims(v.VolumeClaimTemplates)...)
	return append(mistakes, badAmount(v.rolling.MaxUnavailable, under(v.at, "maxUnavailable")...)...)
}

func under(path []string, names ...string) []string { return slices.Concat(path, names) }

// hostCloneSet makes the ReplicaSet of the same name.
func hostCloneSet(m planner.Manifest) []planner.Manifest {
	v := viewCloneSet(m)
	asks := planner.DefaultSettings()
	asks.Update = planner.ReCreate
	asks.MaxUnavailable = &planner.Amount{Value: 20, Percent: true}
	asks.Partition = amount(v.rolling.Partition)
	if v.rolling.MaxUnavailable != nil {
		asks.MaxUnavailable = amount(v.rolling.MaxUnavailable)
	}
	if v.update != "" {
		asks.Update, asks.Explicit = planner.UpdateType(v.update), true
	}
	as := planner.Ref{APIVersion: "apps/v1", Kind: "ReplicaSet"}
	host := keep(mapAt(m.Object, "spec"), "replicas", "selector", "template", "minReadySeconds")
	claims, _ := mapAt(m.Object, "spec")["volumeClaimTemplates"].([]any)
	host["template"] = claimed(mapAt(host, "template"), claims)
	var notReady bool
	if asks.Hooks, notReady = hooks(v.Lifecycle); notReady {
		host["template"] = gated(mapAt(host, "template"))
	}
	return []planner.Manifest{hosted(m, as, host, asks)}
}
