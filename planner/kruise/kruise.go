// Package kruise hosts the workload kinds of OpenKruise on stock objects, for
// clusters that do not serve them. Each kind is three things side by side: the Go
// type of its fields, the table of what becomes of each of them, and the function
// that turns a manifest into the stock object that hosts its pods.
//
//	CloneSet               a ReplicaSet of the same name
//	StatefulSet            a stock StatefulSet
//	DaemonSet              a stock DaemonSet
//	SidecarSet             a MutatingAdmissionPolicy and its binding
//
// The object of a manifest holds what the host can hold; planner.Hosting has the
// rest, which the planner does itself. No field is ignored in silence: a field
// that the table refuses is a mistake of the manifest, one that it drops a
// warning in the plan. Everything here is pure.
package kruise

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"situ.gitops/planner"
)

// Group is the API group of OpenKruise's workloads.
const Group = "apps.kruise.io"

// kind is one kind in all its versions.
type kind struct {
	name     string
	versions map[string]reflect.Type
	fields   []Field
	check    func(m planner.Manifest) []Mistake          // what the types of the fields do not say
	host     func(m planner.Manifest) []planner.Manifest // of a manifest without mistakes
}

// kinds are those that situ hosts, in the order of the table.
func kinds() []kind { return []kind{cloneSet, statefulSet, daemonSet, sidecarSet} }

func lookup(ref planner.Ref) (kind, bool) {
	for _, k := range kinds() {
		for version := range k.versions {
			if ref.Kind == k.name && ref.APIVersion == Group+"/"+version {
				return k, true
			}
		}
	}
	return kind{}, false
}

// Is reports whether situ knows how to host workloads of this kind.
func Is(ref planner.Ref) bool {
	_, ok := lookup(ref)
	return ok
}

// Versions are the apiVersions that a kind may be served in, the manifest's own first.
func Versions(ref planner.Ref) []string {
	all := []string{ref.APIVersion}
	k, _ := lookup(ref)
	for _, version := range slices.Sorted(maps.Keys(k.versions)) {
		if other := Group + "/" + version; other != ref.APIVersion {
			all = append(all, other)
		}
	}
	return all
}

// Namespaced reports whether workloads of this kind live in a namespace.
func Namespaced(ref planner.Ref) bool { return ref.Kind != sidecarSet.name }

// Type is the Go type that has the fields of a kind, nil if it is not one of these.
func Type(ref planner.Ref) reflect.Type {
	k, ok := lookup(ref)
	if !ok {
		return nil
	}
	for version, fields := range k.versions {
		if ref.APIVersion == Group+"/"+version {
			return fields
		}
	}
	return nil
}

// Mistake is something in a manifest that a person must mend.
type Mistake struct {
	Path []string // of the field; "[0]" is an item of a list
	Text string   // what is wrong with it, and the way out
}

// Check finds what a manifest asks for that situ cannot do as its host, and values
// that no server of the kind would take.
func Check(m planner.Manifest) []Mistake {
	k, ok := lookup(m.Ref)
	if !ok {
		return nil
	}
	return append(k.refused(m.Object), CheckValues(m)...)
}

// CheckValues finds values that are wrong whoever runs the workload. The types of
// its fields are checked already.
func CheckValues(m planner.Manifest) []Mistake {
	k, ok := lookup(m.Ref)
	if !ok || k.check == nil {
		return nil
	}
	return k.check(m)
}

// Unsupported are the fields of a manifest that the table refuses. They count only
// where situ hosts the workload, which the manifest alone does not tell.
func Unsupported(m planner.Manifest) []planner.Problem {
	k, ok := lookup(m.Ref)
	if !ok {
		return nil
	}
	var problems []planner.Problem
	for _, mistake := range k.refused(m.Object) {
		problems = append(problems, planner.Problem{Origin: m.Origin, Text: strings.Join(mistake.Path, ".") + " " + mistake.Text})
	}
	return problems
}

// Host gives the objects that host a workload on a cluster that does not serve
// its kind, or the manifest as it is if situ hosts no such kind.
func Host(m planner.Manifest) []planner.Manifest {
	k, ok := lookup(m.Ref)
	if !ok {
		return []planner.Manifest{m}
	}
	manifests := k.host(m)
	for i := range manifests {
		if h := manifests[i].Hosting; h != nil {
			h.Warnings = append(k.dropped(m.Object), h.Warnings...)
		}
	}
	return manifests
}

// HostAll is Host for all manifests of a commit.
func HostAll(manifests []planner.Manifest) []planner.Manifest {
	var all []planner.Manifest
	for _, m := range manifests {
		all = append(all, Host(m)...)
	}
	return all
}

// hosted is the manifest of a host: its object, with the metadata of the workload.
func hosted(m planner.Manifest, as planner.Ref, spec map[string]any, asks planner.Settings) planner.Manifest {
	metadata := maps.Clone(mapAt(m.Object, "metadata"))
	annotations := maps.Clone(mapAt(metadata, "annotations"))
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[planner.AnnotationHosts] = m.APIVersion + "/" + m.Kind
	metadata["annotations"] = annotations
	as.Namespace, as.Name = m.Namespace, m.Name
	return planner.Manifest{
		Ref: as, Origin: m.Origin,
		Object:  map[string]any{"apiVersion": as.APIVersion, "kind": as.Kind, "metadata": metadata, "spec": spec},
		Hosting: &planner.Hosting{Ref: m.Ref, Settings: asks},
	}
}

// decode reads a manifest whose fields are checked already.
func decode[T any](m planner.Manifest) T {
	var value T
	text, err := json.Marshal(m.Object)
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		panic(fmt.Sprintf("a checked %s that cannot be decoded: %v", m.Kind, err))
	}
	return value
}

// amount is a checked number or share of pods, nil if there is none.
func amount(value *intstr.IntOrString) *planner.Amount {
	if value == nil {
		return nil
	}
	a, ok := planner.ParseAmount(value.String())
	if !ok {
		return nil
	}
	return &a
}

// badAmount says what is wrong with a number or share of pods.
func badAmount(value *intstr.IntOrString, path ...string) []Mistake {
	if value == nil {
		return nil
	}
	if _, ok := planner.ParseAmount(value.String()); ok {
		return nil
	}
	return []Mistake{{Path: path, Text: fmt.Sprintf("is %q; want a number of pods such as 2, or a share from 0%% to 100%%", value.String())}}
}

func mapAt(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}

// keep copies those of some fields that are there.
func keep(from map[string]any, names ...string) map[string]any {
	kept := map[string]any{}
	for _, name := range names {
		if value, ok := from[name]; ok {
			kept[name] = value
		}
	}
	return kept
}
