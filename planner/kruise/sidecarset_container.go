package kruise

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// injectedEnv is how OpenKruise marks containers that a set has injected.
const injectedEnv = "IS_INJECTED"

// place is where a container comes to stand in a pod: the first one of the list,
// or as many behind those that the pod has.
type place struct {
	list   string // "containers" or "initContainers"
	index  int
	behind bool
}

// String is the expression of its path.
func (p place) String() string {
	index := fmt.Sprintf("string(%d)", p.index)
	if p.behind {
		index = fmt.Sprintf("string((has(object.spec.%[1]s) ? size(object.spec.%[1]s) : 0) + %[2]d)", p.list, p.index)
	}
	return `"/spec/` + p.list + `/" + ` + index
}

// sidecarValue is the expression of one container as it is written. Both lists
// are there, for what is copied from the pod to follow.
func sidecarValue(c *SidecarContainer) string {
	fields, _ := jsonOf(c.Container).(map[string]any)
	var parts []string
	for _, key := range sortedKeys(fields) {
		if key != "env" && key != "volumeMounts" && !empty(fields[key]) {
			parts = append(parts, literal(key)+": dyn("+literal(fields[key])+")")
		}
	}
	mounts, _ := fields["volumeMounts"].([]any)
	parts = append(parts, `"env": dyn(`+literal(envOf(c))+")", `"volumeMounts": dyn(`+literal(mounts)+")")
	return "{" + strings.Join(parts, ", ") + "}"
}

func envOf(c *SidecarContainer) []any {
	env, _ := jsonOf(c.Env).([]any)
	return append(env, map[string]any{"name": injectedEnv, "value": "true"})
}

// copies are the operations that copy envs and mounts of the pod's own containers,
// once so many sidecars stand in front of them.
func copies(c *SidecarContainer, to place, front int) []string {
	var all []string
	has := literal(namesAt(envOf(c), "name"))
	copied := func(which, list, item string) string {
		return fmt.Sprintf(`object.spec.containers.transformList(i, c, %[1]s && has(c.%[2]s), c.%[2]s.transformList(k, x, %[3]s, `+
			`JSONPatch{op: "copy", from: "/spec/containers/" + string(i + %[4]d) + "/%[2]s/" + string(k), path: %[5]s + "/%[2]s/-"})).flatten()`,
			which, list, item, front, to)
	}
	for _, t := range c.TransferEnv {
		source := literal(t.SourceContainerName)
		if field := nameField(t); field != "" {
			source = field
		}
		all = append(all, copied("c.name == "+source, "env", "x.name in "+literal(namesOf(t))+" && !(x.name in "+has+")"))
	}
	if c.ShareVolumePolicy.Type != "enabled" {
		return all
	}
	mounts, _ := jsonOf(c.VolumeMounts).([]any)
	earlier := "object.spec.containers.exists(j, d, j < i && " + ownContainer("d") + " && has(d.volumeMounts) && d.volumeMounts.exists(m, m.mountPath == x.mountPath))"
	inPath := `c.volumeMounts.exists(m, has(m.subPathExpr) && m.subPathExpr.contains("$(" + x.name + ")"))`
	return append(all,
		copied(ownContainer("c")+" && has(c.volumeMounts)", "env", "!(x.name in "+has+") && "+inPath),
		copied(ownContainer("c"), "volumeMounts", "!(x.mountPath in "+literal(namesAt(mounts, "mountPath"))+") && !"+earlier))
}

// ownContainer: no set has injected it.
func ownContainer(variable string) string {
	return fmt.Sprintf("(!has(%[1]s.env) || !%[1]s.env.exists(e, e.name == %[2]q))", variable, injectedEnv)
}

var podField = regexp.MustCompile(`^metadata\.(labels|annotations)\['([^']+)'\]$`)

// nameField is the expression of the field that names a container, "" if there is
// none that can. The name of the pod is not known when it is made.
func nameField(t TransferEnv) string {
	if t.SourceContainerNameFrom == nil || t.SourceContainerNameFrom.FieldRef == nil {
		return ""
	}
	found := podField.FindStringSubmatch(t.SourceContainerNameFrom.FieldRef.FieldPath)
	if found == nil {
		return ""
	}
	at := "object.metadata." + found[1]
	return "(has(" + at + ") && " + literal(found[2]) + " in " + at + " ? " + at + "[" + literal(found[2]) + `] : "")`
}

func namesOf(t TransferEnv) []any {
	var names []any
	for _, name := range append([]string{t.EnvName}, t.EnvNames...) {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// namesAt is one field of all items of a list.
func namesAt(list []any, field string) []any {
	names := []any{}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if fields[field] != nil {
			names = append(names, fields[field])
		}
	}
	return names
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
