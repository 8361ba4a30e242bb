package kruise

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"situ.gitops/planner"
)

// claimed is a pod template with a generic ephemeral volume for each claim
// template. As its owner has it, a volume of the same name gives way.
func claimed(template map[string]any, claims []any) map[string]any {
	if len(claims) == 0 {
		return template
	}
	template = maps.Clone(template)
	spec := maps.Clone(mapAt(template, "spec"))
	volumes, _ := spec["volumes"].([]any)
	volumes = slices.Clone(volumes)
	for _, item := range claims {
		claim, _ := item.(map[string]any)
		name, _ := mapAt(claim, "metadata")["name"].(string)
		volumes = append(slices.DeleteFunc(volumes, func(v any) bool {
			volume, _ := v.(map[string]any)
			return volume["name"] == name
		}), claimVolume(name, claim))
	}
	spec["volumes"] = volumes
	template["spec"] = spec
	return template
}

func claimVolume(name string, claim map[string]any) map[string]any {
	metadata := keep(mapAt(claim, "metadata"), "labels", "annotations")
	labels := maps.Clone(mapAt(metadata, "labels"))
	if labels == nil {
		labels = map[string]any{}
	}
	labels[planner.LabelClaim] = name
	metadata["labels"] = labels
	return map[string]any{"name": name, "ephemeral": map[string]any{
		"volumeClaimTemplate": map[string]any{"metadata": metadata, "spec": claim["spec"]},
	}}
}

// badClaims finds claim templates that no volume can be made of.
func badClaims(claims []corev1.PersistentVolumeClaim) []Mistake {
	var mistakes []Mistake
	seen := map[string]bool{}
	path := []string{"spec", "volumeClaimTemplates"}
	for i := range claims {
		switch name := claims[i].Name; {
		case name == "":
			mistakes = append(mistakes, Mistake{Path: path, Text: fmt.Sprintf("has no metadata.name in its item %d; want the name of the volume that containers mount", i)})
		case seen[name]:
			mistakes = append(mistakes, Mistake{Path: path, Text: fmt.Sprintf("has %q twice; want a name of its own for each claim template", name)})
		}
		seen[claims[i].Name] = true
	}
	return mistakes
}
