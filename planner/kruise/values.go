package kruise

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/planner"
)

// oneOf says what is wrong with a word that must be one of a few, if it is written.
func oneOf(value string, path []string, words ...string) []Mistake {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	last := len(words) - 1
	return []Mistake{{Path: path, Text: fmt.Sprintf("is %q; want %s or %s", value, strings.Join(words[:last], ", "), words[last])}}
}

const nobound = int32(1<<31 - 1)

// outside says what is wrong with a number that has bounds, if it is written.
func outside(value *int32, least, most int32, path []string) []Mistake {
	switch {
	case value == nil || *value >= least && *value <= most:
		return nil
	case most == nobound:
		return []Mistake{{Path: path, Text: fmt.Sprintf("is %d; want %d or more", *value, least)}}
	}
	return []Mistake{{Path: path, Text: fmt.Sprintf("is %d; want %d to %d", *value, least, most)}}
}

// badSelector says what is wrong with a selector, if it is written.
func badSelector(selector *metav1.LabelSelector, path []string) []Mistake {
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return []Mistake{{Path: path, Text: fmt.Sprintf("selects nothing: %v", err)}}
	}
	return nil
}

// gated is a pod template with the readiness gate that keeps traffic away before
// a restart. Only a grace period asks for it: a pod that has it is ready only once
// situ has said so.
func gated(template map[string]any) map[string]any {
	template = maps.Clone(template)
	spec := maps.Clone(mapAt(template, "spec"))
	gates, _ := spec["readinessGates"].([]any)
	has := slices.ContainsFunc(gates, func(gate any) bool {
		g, _ := gate.(map[string]any)
		return g["conditionType"] == string(planner.GateReady)
	})
	if !has {
		gates = append(slices.Clone(gates), map[string]any{"conditionType": string(planner.GateReady)})
	}
	spec["readinessGates"] = gates
	template["spec"] = spec
	return template
}
