package manifest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"situ.gitops/planner"
	"situ.gitops/planner/kruise"
)

// promise is one row of what an object must keep beside the types of its fields.
// The server would say so too, but later, one at a time, and not without a cluster.
type promise struct {
	kinds []string // of the groups apps, apps.kruise.io and core
	check func(d *document, at where, fields map[string]any)
}

var (
	replicated = []string{"Deployment", "StatefulSet", "ReplicaSet", "CloneSet"}
	templated  = []string{"Deployment", "StatefulSet", "ReplicaSet", "CloneSet", "DaemonSet"}
)

// promises are checked one after the other; each may find mistakes.
var promises = []promise{
	{replicated, atLeastZero("spec", "replicas")},
	{templated, atLeastZero("spec", "minReadySeconds")},
	{templated, atLeastZero("spec", "revisionHistoryLimit")},
	{templated, atLeastZero("spec", "template", "spec", "terminationGracePeriodSeconds")},
	{templated, selectsItsPods},
	{templated, restartsAlways},
	{templated, func(d *document, at where, fields map[string]any) {
		containers(d, append(at, "spec", "template", "spec"), lookup(fields, "spec", "template", "spec"))
	}},
	{[]string{"Pod"}, atLeastZero("spec", "terminationGracePeriodSeconds")},
	{[]string{"Pod"}, func(d *document, at where, fields map[string]any) {
		containers(d, at.field("spec"), fields["spec"])
	}},
}

func (d *document) promises(at where, ref planner.Ref, fields map[string]any) {
	if g := ref.Group(); g != "" && g != "apps" && g != "apps.kruise.io" {
		return
	}
	for _, p := range promises {
		if slices.Contains(p.kinds, ref.Kind) {
			p.check(d, at, fields)
		}
	}
}

// settings are what the situ annotations of a workload ask for.
func (d *document) settings(at where, m planner.Manifest) {
	if !planner.IsWorkload(m.Ref) && !kruise.Is(m.Ref) {
		return
	}
	_, mistakes := planner.SettingsOf(m)
	line := lineOf(d.root, steps(at, "metadata", "annotations"))
	for _, text := range mistakes {
		d.sayLine(line, nil, "%s", text)
	}
}

// hosting is what a workload of OpenKruise asks of whoever runs it.
func (d *document) hosting(at where, m planner.Manifest) {
	for _, mistake := range kruise.CheckValues(m) {
		place := at
		for _, name := range mistake.Path {
			if i, ok := itemOf(name); ok {
				place = place.item(i)
				continue
			}
			place = place.field(name)
		}
		d.say(place, "%s", mistake.Text)
	}
}

// itemOf is the number of an item of a list, as "[0]" names it.
func itemOf(name string) (i int, ok bool) {
	number, ok := strings.CutPrefix(name, "[")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(strings.TrimSuffix(number, "]"))
	return i, err == nil
}

// lookup follows field names, nil if one is not there.
func lookup(value any, names ...string) any {
	for _, name := range names {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	return value
}

func steps(at where, names ...string) where {
	for _, name := range names {
		at = at.field(name)
	}
	return at
}

func atLeastZero(names ...string) func(*document, where, map[string]any) {
	return func(d *document, at where, fields map[string]any) {
		if n, ok := lookup(fields, names...).(int64); ok && n < 0 {
			d.say(steps(at, names...), "is %d; want 0 or more", n)
		}
	}
}

func selectsItsPods(d *document, at where, fields map[string]any) {
	if lookup(fields, "spec", "selector") == nil {
		d.say(steps(at, "spec", "selector"), "is missing; want matchLabels that the template's labels have")
		return
	}
	want, _ := lookup(fields, "spec", "selector", "matchLabels").(map[string]any)
	have, _ := lookup(fields, "spec", "template", "metadata", "labels").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		label, isText := have[name].(string)
		if !isText || label != want[name] {
			d.say(append(at, "spec", "selector", "matchLabels", name), "is not a label of the template; give spec.template.metadata.labels the same value")
		}
	}
}

func restartsAlways(d *document, at where, fields map[string]any) {
	names := []string{"spec", "template", "spec", "restartPolicy"}
	if policy := lookup(fields, names...); policy != nil && policy != "Always" {
		d.say(steps(at, names...), "must be Always in a template; remove it")
	}
}

// containers have names of their own and images.
func containers(d *document, at where, spec any) {
	fields, _ := spec.(map[string]any)
	if list, _ := fields["containers"].([]any); len(list) == 0 {
		d.say(at.field("containers"), "is missing or empty; want at least one container")
	}
	seen := map[string]bool{}
	for _, field := range []string{"initContainers", "containers"} {
		list, _ := fields[field].([]any)
		for i, item := range list {
			container, _ := item.(map[string]any)
			d.container(append(at, field, i), container, seen)
		}
	}
}

func (d *document) container(at where, container map[string]any, seen map[string]bool) {
	name := d.text(at, container, "name", "a name of its own")
	switch {
	case name == "":
	case len(validation.IsDNS1123Label(name)) > 0:
		d.say(at.field("name"), "is %q; want %s", short(name), labelWords)
	case seen[name]:
		d.say(at.field("name"), "is %q, as of another container; give each its own name", name)
	}
	seen[name] = true
	d.text(at, container, "image", "a reference such as registry.example/app:v1")
}
