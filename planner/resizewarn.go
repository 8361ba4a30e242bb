package planner

import (
	"fmt"
	"slices"
	"strings"
)

// resizeWarnings are what a resize in place costs beyond what one would think.
func (r *rollout) resizeWarnings() []string {
	var warnings []string
	for i := range r.cases {
		c := &r.cases[i]
		if !c.resizes || c.verdict >= Recreate || c.kept != "" {
			continue
		}
		for _, change := range c.changes {
			if !isResize(change) {
				continue
			}
			question := asked{Change: change, to: r.want}
			if name, _ := change.Container(); restartsOnResize(question) && slices.Contains(c.patched, name) {
				warnings = append(warnings, fmt.Sprintf("container %s restarts twice in the same pod: its resizePolicy asks for the one, its new image or env for the other; update type %s makes a new pod instead", name, ReCreate))
			}
			for _, name := range amountReaders(question) {
				if !slices.Contains(c.containers, name) {
					warnings = append(warnings, fmt.Sprintf("container %s has %s in its env, and sees the new amount when it restarts next; update type %s makes a new pod instead", name, strings.TrimPrefix(change.Field, "spec."), ReCreate))
				}
			}
		}
	}
	slices.Sort(warnings)
	return slices.Compact(warnings)
}

// amountReaders are the running containers whose env has an amount of cpu or memory
// (resourceFieldRef), of their own or of another container. The kubelet reads it
// when it starts a container.
func amountReaders(a asked) []string {
	of, _ := a.Container()
	amount := a.path[3].key + "." + a.path[4].key
	var names []string
	for _, container := range containersOf(a.to) {
		env, _ := container.spec["env"].([]any)
		if !container.plainInit && slices.ContainsFunc(env, func(item any) bool {
			entry, _ := item.(map[string]any)
			ref := mapAt(entry, "valueFrom", "resourceFieldRef")
			named := textAt(ref, "containerName")
			return textAt(ref, "resource") == amount && (named == of || named == "" && container.name == of)
		}) {
			names = append(names, container.name)
		}
	}
	return names
}
