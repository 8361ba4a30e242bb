package planner

import "strings"

// astray warns of autoscalers that look for a hosted workload under the kind that
// Git has: the cluster has no such object, so they would scale nothing, in silence.
// Those of the commit are told before they are applied.
func astray(commit Commit, m Manifest, snap Snapshot) []string {
	if m.Hosting == nil {
		return nil
	}
	named := m.Hosting.Ref
	names := map[string]any{}
	if name := snap.Autoscalers[named]; name != "" {
		names[name] = nil
	}
	for _, scaler := range commit.Manifests {
		target := mapAt(scaler.Object, "spec", "scaleTargetRef")
		ref := Ref{APIVersion: textAt(target, "apiVersion"), Kind: textAt(target, "kind"), Namespace: scaler.Namespace, Name: textAt(target, "name")}
		if ref.Group() == named.Group() && ref.Kind == named.Kind && ref.Namespace == named.Namespace && ref.Name == named.Name {
			names[strings.ToLower(scaler.Kind)+"/"+scaler.Name] = nil
		}
	}
	var warnings []string
	for _, name := range union(names, nil) {
		warnings = append(warnings, name+" finds nothing to scale, since this cluster does not serve "+named.Kind+
			": let its scaleTargetRef name "+m.APIVersion+" "+m.Kind+" "+m.Name+", and the replicas are left to it")
	}
	return warnings
}
