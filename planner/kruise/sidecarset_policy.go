package kruise

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/planner"
)

const policyVersion = "admissionregistration.k8s.io/v1"

// policySpec injects inside the API server, so that nobody else can be away when
// a pod is made. A pod that cannot be given its containers is refused, as
// OpenKruise does it: it must not run without them, and whoever makes it tells why.
//
//	who           pods that match when they are made, but for static ones, situ's
//	              own that pull images, and those that have the set already or a
//	              container of one of its names
//	containers    before or behind the pod's own
//	envs, mounts  copied from the pod's own containers: what sets have injected is
//	              marked by an env, as OpenKruise does it
//	annotations   the record of the set, and the list that OpenKruise's tools read
func policySpec(v sidecarView, s *planner.Sidecars) map[string]any {
	pods := s.Pods.DeepCopy()
	pods.MatchExpressions = append(pods.MatchExpressions, metav1.LabelSelectorRequirement{Key: planner.LabelPull, Operator: metav1.LabelSelectorOpDoesNotExist})
	return map[string]any{
		"failurePolicy": "Fail", "reinvocationPolicy": "Never",
		"matchConstraints": map[string]any{
			"namespaceSelector": jsonOf(s.Namespaces), "objectSelector": jsonOf(pods),
			"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"pods"},
			}},
		},
		"matchConditions": conditions(v, s),
		"mutations": []any{map[string]any{
			"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": mutation(v, s)},
		}},
	}
}

func conditions(v sidecarView, s *planner.Sidecars) []any {
	var all []any
	add := func(name, expression string) {
		all = append(all, map[string]any{"name": name, "expression": expression})
	}
	without := func(annotation string) string {
		return "!has(object.metadata.annotations) || !(" + literal(annotation) + " in object.metadata.annotations)"
	}
	if !s.Injecting {
		add("paused", "false")
	}
	add("not-static", without(corev1.MirrorPodAnnotationKey))
	add("not-twice", without(planner.AnnotationSidecarSet+s.Set))
	if names := namesIn(v); len(names) > 0 {
		taken := "c.name in " + literal(names)
		add("no-container-of-that-name", "!object.spec.containers.exists(c, "+taken+") && (!has(object.spec.initContainers) || !object.spec.initContainers.exists(c, "+taken+"))")
	}
	return all
}

func namesIn(v sidecarView) []any {
	var names []any
	for _, c := range slices.Concat(v.InitContainers, v.Containers) {
		names = append(names, c.Name)
	}
	return names
}

// mutation is the expression that gives the operations of the patch.
func mutation(v sidecarView, s *planner.Sidecars) string {
	before, after := split(v.Containers)
	inits := slices.Clone(v.InitContainers)
	slices.SortStableFunc(inits, func(a, b SidecarContainer) int { return strings.Compare(a.Name, b.Name) })
	var parts, copied, initValues, volumes, secrets []string
	for i := range before {
		to := place{list: "containers", index: i}
		parts = append(parts, "["+operation(to, sidecarValue(&before[i]))+"]")
		copied = append(copied, copies(&before[i], to, len(before))...)
	}
	for i := range after {
		to := place{list: "containers", index: len(before) + i, behind: true}
		parts = append(parts, "["+operation(to, sidecarValue(&after[i]))+"]")
		copied = append(copied, copies(&after[i], to, len(before))...)
	}
	for i := range inits {
		initValues = append(initValues, "["+sidecarValue(&inits[i])+"]")
		copied = append(copied, copies(&inits[i], place{list: "initContainers", index: i, behind: true}, len(before))...)
	}
	for i := range v.Volumes {
		volumes = append(volumes, newcomer("volumes", v.Volumes[i].Name, v.Volumes[i]))
	}
	for i := range v.ImagePullSecrets {
		secrets = append(secrets, newcomer("imagePullSecrets", v.ImagePullSecrets[i].Name, v.ImagePullSecrets[i]))
	}
	parts = slices.Concat(parts, appended("initContainers", initValues), copied,
		appended("volumes", volumes), appended("imagePullSecrets", secrets), annotated(v, s))
	return strings.Join(parts, " +\n")
}

// split tells containers that come before the pod's own from those behind them.
func split(containers []SidecarContainer) (before, after []SidecarContainer) {
	for _, c := range containers {
		if c.PodInjectPolicy == afterApp {
			after = append(after, c)
			continue
		}
		before = append(before, c)
	}
	return before, after
}

// appended are operations that add values to a list which may not be there.
func appended(list string, values []string) []string {
	if len(values) == 0 {
		return nil
	}
	joined := strings.Join(values, " + ")
	return []string{fmt.Sprintf(`(has(object.spec.%[1]s) ? (%[2]s).map(x, JSONPatch{op: "add", path: "/spec/%[1]s/-", value: x}) : [JSONPatch{op: "add", path: "/spec/%[1]s", value: %[2]s}])`, list, joined)}
}

// newcomer is a list with a value, or an empty one if the pod has one of that name.
func newcomer(list, name string, value any) string {
	return fmt.Sprintf("(has(object.spec.%[1]s) && object.spec.%[1]s.exists(x, x.name == %[2]s) ? [] : [%[3]s])", list, literal(name), literal(jsonOf(value)))
}

// annotated are operations that write the annotations.
func annotated(v sidecarView, s *planner.Sidecars) []string {
	parts := []string{`(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}])`}
	write := func(key, value string) string {
		return `[JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey(` + literal(key) + `), value: ` + value + `}]`
	}
	has := func(key string) string {
		return "has(object.metadata.annotations) && " + literal(key) + " in object.metadata.annotations"
	}
	parts = append(parts, write(planner.AnnotationSidecarSet+s.Set, literal(s.Record.String())))
	list := literal(planner.AnnotationKruiseInjected)
	parts = append(parts, write(planner.AnnotationKruiseInjected,
		"("+has(planner.AnnotationKruiseInjected)+" ? object.metadata.annotations["+list+`] + ",": "") + `+literal(s.Set)))
	for _, patch := range v.PatchPodMetadata {
		for _, key := range sortedKeys(patch.Annotations) {
			operation := write(key, literal(patch.Annotations[key]))
			if patch.PatchPolicy != "Overwrite" {
				operation = "(" + has(key) + " ? [] : " + operation + ")"
			}
			parts = append(parts, operation)
		}
	}
	return parts
}

func operation(to place, value string) string {
	return `JSONPatch{op: "add", path: ` + to.String() + `, value: ` + value + `}`
}

// literal writes JSON as an expression. Kubernetes allows lists and maps of one
// type only; dyn makes all types one.
func literal(value any) string {
	switch value := value.(type) {
	case map[string]any:
		var fields []string
		for _, key := range sortedKeys(value) {
			fields = append(fields, literal(key)+": dyn("+literal(value[key])+")")
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		var items []string
		for _, item := range value {
			items = append(items, "dyn("+literal(item)+")")
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	text, err := json.Marshal(value) // of a scalar it is an expression as it is
	if err != nil {
		panic("a checked SidecarSet that is no JSON: " + err.Error())
	}
	return string(text)
}
