package planner

import (
	"strings"
)

// Kinds are what package kruise makes of the kinds of OpenKruise. The planner
// does not know that package, so its tests are told.
var Kinds struct {
	Check func(Manifest) []string
	Host  func(Manifest) []Manifest
}

// caseManifest is the case's workload as Git has it, on its host; the mistakes are
// those for which it is refused.
func caseManifest(c decisionCase, template map[string]any, claims any) (Manifest, []string) {
	spec := map[string]any{
		"replicas": int64(3), "selector": map[string]any{"matchLabels": map[string]any{"app": "harbor"}},
		"template": withBarriers(c, template), "updateStrategy": caseStrategy(c),
	}
	if list, _ := at(map[string]any{"of": claims}, "of", "volumeClaimTemplates").([]any); len(list) > 0 {
		spec["volumeClaimTemplates"] = list
	}
	if hook := mapAt(c.Workload, "inPlaceUpdateHook"); hook != nil {
		spec["lifecycle"] = map[string]any{"inPlaceUpdate": hook}
	}
	if policy, ok := c.Workload["podManagementPolicy"]; ok {
		spec["podManagementPolicy"] = policy
	}
	if when, ok := c.Workload["volumeClaimUpdateStrategy"]; ok {
		spec["volumeClaimUpdateStrategy"] = map[string]any{"type": when}
	}
	if c.Kind == "DaemonSet" {
		delete(spec, "replicas")
	}
	ref := Ref{APIVersion: "apps.kruise.io/v1beta1", Kind: c.Kind, Namespace: "shop", Name: "harbor"}
	if c.Kind == "CloneSet" {
		ref.APIVersion = "apps.kruise.io/v1alpha1"
	}
	if strings.HasPrefix(c.APIVersion, "apps.kruise.io/") {
		ref.APIVersion = c.APIVersion
	}
	m := Manifest{Ref: ref, Object: map[string]any{
		"apiVersion": ref.APIVersion, "kind": ref.Kind, "spec": spec,
		"metadata": map[string]any{"name": ref.Name, "namespace": ref.Namespace},
	}}
	if mistakes := Kinds.Check(m); len(mistakes) > 0 {
		return m, mistakes
	}
	return Kinds.Host(m)[0], nil
}

// caseStrategy has the update type where the kind and its version have it.
func caseStrategy(c decisionCase) map[string]any {
	rolling := map[string]any{}
	for _, field := range []string{"paused", "maxSurge", "maxUnavailable"} {
		if value, ok := c.Workload[field]; ok {
			rolling[field] = value
		}
	}
	switch {
	case c.UpdateType == "OnDelete":
		return map[string]any{"type": "OnDelete"}
	case c.Kind == "CloneSet" && c.APIVersion != "apps.kruise.io/v1beta1":
		rolling["type"] = c.UpdateType
		return rolling
	case c.Kind == "DaemonSet":
		rolling["rollingUpdateType"] = c.UpdateType
	default:
		rolling["podUpdatePolicy"] = c.UpdateType
	}
	return map[string]any{"type": "RollingUpdate", "rollingUpdate": rolling}
}
