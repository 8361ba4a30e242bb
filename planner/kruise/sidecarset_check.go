package kruise

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"situ.gitops/planner"
)

// The annotation on a pod holds the name of the set in its own name.
const longestSetName = validation.LabelValueMaxLength - len("sidecarset.")

// canaryOf is the label or annotation that makes a set the canary of another one.
const canaryOf = "apps.kruise.io/sidecarset-base"

func checkSidecarSet(m planner.Manifest) []Mistake {
	v := viewSidecarSet(m)
	var mistakes []Mistake
	say := func(text string, path ...string) { mistakes = append(mistakes, Mistake{Path: path, Text: text}) }
	if len(m.Name) > longestSetName {
		say(fmt.Sprintf("is longer than %d characters; want a shorter one, it becomes part of an annotation of pods", longestSetName), "metadata", "name")
	}
	if mapAt(m.Object, "metadata", "annotations")[canaryOf] != nil || mapAt(m.Object, "metadata", "labels")[canaryOf] != nil {
		say(canaryOf+" is not supported: use updateStrategy.partition or updateStrategy.selector of the set itself", "metadata")
	}
	for _, key := range []string{planner.AnnotationUpdate, planner.AnnotationGrace, planner.AnnotationOnFailure} {
		if mapAt(m.Object, "metadata", "annotations")[key] != nil {
			say(key+" means nothing for a SidecarSet, whose images always come in place; remove it", "metadata", "annotations")
		}
	}
	mistakes = append(mistakes, badSelection(v)...)
	mistakes = append(mistakes, badUpdate(v)...)
	if len(v.Containers)+len(v.InitContainers)+len(v.PatchPodMetadata) == 0 {
		say("is missing or empty; want a container, or patchPodMetadata", "spec", "containers")
	}
	return slices.Concat(mistakes, badContainers(v), badMetadata(v))
}

func badContainers(v sidecarView) []Mistake {
	var mistakes []Mistake
	volumes, seen := map[string]bool{}, map[string]bool{}
	for i := range v.Volumes {
		if name := v.Volumes[i].Name; name == "" || volumes[name] {
			mistakes = append(mistakes, Mistake{Path: []string{"spec", "volumes", item(i), "name"}, Text: "is missing, or the name of another volume; give each its own"})
		}
		volumes[v.Volumes[i].Name] = true
	}
	check := func(c *SidecarContainer, at ...string) {
		mistakes = slices.Concat(mistakes, badSidecar(c, seen, at...), badMounts(c, volumes, at...))
	}
	for i := range v.InitContainers {
		check(&v.InitContainers[i], "spec", "initContainers", item(i))
	}
	for i := range v.Containers {
		check(&v.Containers[i], "spec", "containers", item(i))
	}
	return mistakes
}

func badMetadata(v sidecarView) []Mistake {
	var mistakes []Mistake
	for i, patch := range v.PatchPodMetadata {
		at := []string{"spec", "patchPodMetadata", item(i)}
		if patch.PatchPolicy == "MergePatchJson" {
			mistakes = append(mistakes, Mistake{Path: under(at, "patchPolicy"), Text: "MergePatchJson is not supported: write the whole value, with Overwrite"})
			continue
		}
		mistakes = append(mistakes, oneOf(patch.PatchPolicy, under(at, "patchPolicy"), "Retain", "Overwrite")...)
		for _, key := range slices.Sorted(maps.Keys(patch.Annotations)) {
			if strings.HasPrefix(key, planner.Domain+"/") {
				mistakes = append(mistakes, Mistake{Path: under(at, "annotations", key), Text: "is written by situ itself; remove it"})
			}
		}
	}
	return mistakes
}

// badSelection finds a set that would match every pod, and selectors that select nothing.
func badSelection(v sidecarView) []Mistake {
	var mistakes []Mistake
	if selecting(v.Selector) == nil {
		mistakes = append(mistakes, Mistake{Path: []string{"spec", "selector"}, Text: "is missing or empty; want matchLabels or matchExpressions of the pods"})
	}
	if len(v.named) > 0 && v.chosen != nil {
		mistakes = append(mistakes, Mistake{Path: v.at, Text: "names namespaces and selects them by label; keep one of the two"})
	}
	for _, name := range v.named {
		if slices.Contains(systemNamespaces, name) {
			mistakes = append(mistakes, Mistake{Path: v.at, Text: "names " + name + ", where pods never get containers of a SidecarSet; name another one"})
		}
	}
	for _, s := range []struct {
		selector *metav1.LabelSelector
		path     []string
	}{
		{v.Selector, []string{"spec", "selector"}}, {v.chosen, v.at}, {v.UpdateStrategy.Selector, []string{"spec", "updateStrategy", "selector"}},
	} {
		if _, err := metav1.LabelSelectorAsSelector(s.selector); err != nil {
			mistakes = append(mistakes, Mistake{Path: s.path, Text: "is no selector: " + err.Error() + "; mend it"})
		}
	}
	return mistakes
}

func badUpdate(v sidecarView) []Mistake {
	u, at := v.UpdateStrategy, []string{"spec", "updateStrategy"}
	mistakes := oneOf(u.Type, append(at, "type"), "RollingUpdate", "NotUpdate")
	mistakes = append(mistakes, badAmount(u.Partition, append(at, "partition")...)...)
	mistakes = append(mistakes, badAmount(u.MaxUnavailable, append(at, "maxUnavailable")...)...)
	mistakes = append(mistakes, badPriority(u.PriorityStrategy, append(at, "priorityStrategy"))...)
	mistakes = append(mistakes, badScatter(u.ScatterStrategy, append(at, "scatterStrategy"))...)
	if u.Selector != nil && u.Partition != nil && u.Partition.String() != "0" && u.Partition.String() != "0%" {
		mistakes = append(mistakes, Mistake{Path: append(at, "partition"), Text: "does not go with a selector of pods to update; keep one of the two"})
	}
	return mistakes
}

func badSidecar(c *SidecarContainer, seen map[string]bool, at ...string) []Mistake {
	var mistakes []Mistake
	say := func(text string, path ...string) {
		mistakes = append(mistakes, Mistake{Path: append(slices.Clip(at), path...), Text: text})
	}
	switch {
	case len(validation.IsDNS1123Label(c.Name)) > 0:
		say("is no name of a container; want lower case letters, digits and dashes", "name")
	case seen[c.Name]:
		say("is the name of another container; give each its own", "name")
	}
	seen[c.Name] = true
	if c.Image == "" {
		say("is missing; want a reference such as registry.example/app:v1", "image")
	}
	if c.UpgradeStrategy.UpgradeType == "HotUpgrade" {
		say("is HotUpgrade, which is not supported: two containers that take turns; use ColdUpgrade, which restarts the container in place", "upgradeStrategy", "upgradeType")
	} else {
		mistakes = append(mistakes, oneOf(c.UpgradeStrategy.UpgradeType, append(slices.Clip(at), "upgradeStrategy", "upgradeType"), "ColdUpgrade", "HotUpgrade")...)
	}
	mistakes = append(mistakes, oneOf(c.PodInjectPolicy, append(slices.Clip(at), "podInjectPolicy"), beforeApp, afterApp)...)
	mistakes = append(mistakes, oneOf(c.ShareVolumePolicy.Type, append(slices.Clip(at), "shareVolumePolicy", "type"), "enabled", "disabled")...)
	for i, env := range c.TransferEnv {
		if env.SourceContainerName == "" && nameField(env) == "" {
			say("names no container; want sourceContainerName, or a label or annotation of the pod in sourceContainerNameFrom.fieldRef", "transferEnv", item(i))
		}
		if len(namesOf(env)) == 0 {
			say("names no env; want envName or envNames", "transferEnv", item(i))
		}
	}
	return mistakes
}

// badMounts finds what would keep every pod from being made that gets the
// container: the policy itself is none the wiser.
func badMounts(c *SidecarContainer, volumes map[string]bool, at ...string) []Mistake {
	var mistakes []Mistake
	say := func(text string, path ...string) {
		mistakes = append(mistakes, Mistake{Path: slices.Concat(at, path), Text: text})
	}
	paths := map[string]bool{}
	for i := range c.VolumeMounts {
		mount := &c.VolumeMounts[i]
		if !volumes[mount.Name] {
			say("is no volume of spec.volumes; add it there", "volumeMounts", item(i), "name")
		}
		if mount.MountPath == "" || paths[mount.MountPath] {
			say("is missing, or that of another mount; give each its own", "volumeMounts", item(i), "mountPath")
		}
		paths[mount.MountPath] = true
	}
	for i := range c.Env {
		if c.Env[i].Name == "" {
			say("is missing; want the name of the env", "env", item(i), "name")
		}
	}
	return mistakes
}

// item is the step of a path to one item of a list.
func item(i int) string { return "[" + strconv.Itoa(i) + "]" }
