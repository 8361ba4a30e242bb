package planner

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// applied is what the server would store after situ applied a body: fields that
// it owned and no longer names go, the others stay. Lists are taken as a whole.
func (w *world) applied(ref Ref, body map[string]any) map[string]any {
	object := map[string]any{}
	if live := w.live(ref); live != nil {
		object = clone(live).(map[string]any)
	}
	prune(object, w.fields[ref], body)
	overlay(object, clone(body).(map[string]any))
	if strategy := mapAt(object, "spec", "updateStrategy"); ref.Kind == "StatefulSet" && strategy["type"] == "OnDelete" && strategy["rollingUpdate"] != nil {
		w.t.Fatalf("the server refuses rollingUpdate in strategy OnDelete: %v", strategy)
	}
	object = withStrategy(Defaults(Manifest{Ref: ref, Object: object}))
	if live := w.live(ref); ref.Kind == "DaemonSet" && live != nil && !reflect.DeepEqual(at(live, "spec", "template"), at(object, "spec", "template")) {
		bumpTemplateGeneration(&unstructured.Unstructured{Object: object})
	}
	return object
}

func (w *world) live(ref Ref) map[string]any {
	if ref.Kind == "Pod" && w.pods[ref.Name] != nil {
		return podJSON(w.pods[ref.Name])
	}
	if o := w.objects[ref]; o != nil {
		return o.Object
	}
	return nil
}

func prune(object, before, after map[string]any) {
	for key, old := range before {
		inner, isMap := old.(map[string]any)
		have, _ := object[key].(map[string]any)
		switch {
		case isMap && have != nil:
			next, _ := after[key].(map[string]any)
			prune(have, inner, next)
			if len(have) == 0 && after[key] == nil {
				delete(object, key)
			}
		case after[key] == nil:
			delete(object, key)
		}
	}
}

func overlay(object, body map[string]any) {
	for key, value := range body {
		if value == nil {
			delete(object, key)
			continue
		}
		inner, isMap := value.(map[string]any)
		have, haveMap := object[key].(map[string]any)
		if isMap && haveMap {
			overlay(have, inner)
			continue
		}
		object[key] = value
	}
}

// withStrategy fills in the update strategies, which Defaults leaves to a server.
func withStrategy(object map[string]any) map[string]any {
	spec := mapAt(object, "spec")
	switch object["kind"] {
	case "Deployment":
		strategy := sub(spec, "strategy")
		setDefault(strategy, "type", "RollingUpdate")
		if strategy["type"] == "RollingUpdate" {
			setDefault(sub(strategy, "rollingUpdate"), "maxUnavailable", "25%")
			setDefault(sub(strategy, "rollingUpdate"), "maxSurge", "25%")
		}
	case "StatefulSet":
		strategy := sub(spec, "updateStrategy")
		setDefault(strategy, "type", "RollingUpdate")
		if strategy["type"] == "RollingUpdate" {
			setDefault(sub(strategy, "rollingUpdate"), "partition", int64(0))
		}
	case "DaemonSet":
		strategy := sub(spec, "updateStrategy")
		setDefault(strategy, "type", "RollingUpdate")
		if strategy["type"] == "RollingUpdate" {
			setDefault(sub(strategy, "rollingUpdate"), "maxUnavailable", int64(1))
			setDefault(sub(strategy, "rollingUpdate"), "maxSurge", int64(0))
		}
		setDefault(sub(sub(object, "metadata"), "annotations"), appsv1.DeprecatedTemplateGeneration, "1")
	}
	return object
}

func bumpTemplateGeneration(o *unstructured.Unstructured) {
	annotations := o.GetAnnotations()
	n, _ := strconv.Atoi(annotations[appsv1.DeprecatedTemplateGeneration])
	annotations[appsv1.DeprecatedTemplateGeneration] = strconv.Itoa(n + 1)
	o.SetAnnotations(annotations)
}

// do carries one action out, guarded as the applier guards it.
func (w *world) do(a Action) error {
	if uid := w.uidOf(a.Ref); a.UID != "" && uid != string(a.UID) {
		return fmt.Errorf("%s %s: changed since it was planned", a.Mode, a.Ref)
	}
	if a.DryRun {
		return nil
	}
	w.writes++
	for _, path := range a.Disown {
		disown(w.fields[a.Ref], strings.Split(path, "."))
	}
	switch a.Mode {
	case ServerSideApply:
		return w.doApply(a)
	case CreateOnly:
		if a.Ref.Kind == "Pod" {
			w.createPod(podFrom(wire(a.Body)))
		} else if w.objects[a.Ref] == nil {
			w.create(wire(a.Body))
		}
	case Delete:
		if a.Ref.Kind == "Pod" {
			w.deletePod(a.Ref.Name, "situ")
		} else {
			if a.Orphan {
				w.orphan(a.UID)
			}
			delete(w.objects, a.Ref)
		}
	case JSONPatch:
		if a.Name == "take-over" {
			return w.doTakeOver(a)
		}
		if a.Name == "hand-over" || a.Name == "adopt" {
			w.doOwners(a)
			return nil
		}
		w.doJSONPatch(a)
	case StrategicPatch:
		return w.doStrategic(a)
	}
	return nil
}

func disown(fields map[string]any, path []string) {
	for _, key := range path[:len(path)-1] {
		fields = mapAt(fields, key)
	}
	delete(fields, path[len(path)-1])
}

func (w *world) uidOf(ref Ref) string {
	if ref.Kind == "Pod" && w.pods[ref.Name] != nil {
		return string(w.pods[ref.Name].UID)
	}
	if o := w.objects[ref]; o != nil {
		return string(o.GetUID())
	}
	return ""
}

func (w *world) doApply(a Action) error {
	body := wire(a.Body)
	exists := w.live(a.Ref) != nil
	if a.UID == "" && exists {
		return fmt.Errorf("apply %s: it is there already", a.Ref)
	}
	object := w.applied(a.Ref, body)
	w.fields[a.Ref] = clone(body).(map[string]any)
	if a.Ref.Kind == "Pod" {
		w.createPod(podFrom(object))
		return nil
	}
	if exists {
		w.store(object)
	} else {
		w.create(object)
	}
	return nil
}

// wire is a body as it comes out of a request: whole numbers are int64.
func wire(body any) map[string]any {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(text, &object); err != nil {
		panic(err)
	}
	return object
}

func podFrom(object map[string]any) *corev1.Pod {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, pod); err != nil {
		panic(err)
	}
	return pod
}

// doJSONPatch knows add and replace of a whole field of the top two levels.
func (w *world) doJSONPatch(a Action) {
	object := clone(w.objects[a.Ref].Object).(map[string]any)
	for _, item := range a.Body.([]any) {
		op := item.(map[string]any)
		switch op["path"] {
		case "/spec/template":
			mapAt(object, "spec")["template"] = op["value"]
		case "/metadata/annotations":
			mapAt(object, "metadata")["annotations"] = op["value"]
		default:
			w.t.Fatalf("json patch of %v is not modelled", op["path"])
		}
	}
	w.store(object)
}

func (w *world) doStrategic(a Action) error {
	before := w.live(a.Ref)
	var kind any = &corev1.Pod{}
	switch a.Ref.Kind {
	case "Deployment":
		kind = &appsv1.Deployment{}
	case "ReplicaSet":
		kind = &appsv1.ReplicaSet{}
	}
	original, _ := json.Marshal(before)
	patch, _ := json.Marshal(a.Body)
	merged, err := strategicpatch.StrategicMergePatch(original, patch, kind)
	if err != nil {
		return fmt.Errorf("patch %s: %w", a.Ref, err)
	}
	object := &unstructured.Unstructured{}
	if a.Ref.Kind != "Pod" {
		if err := object.UnmarshalJSON(merged); err != nil {
			return err
		}
		w.store(object.Object)
		return nil
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(merged, pod); err != nil {
		return err
	}
	switch a.Subresource {
	case "status":
		pod.ObjectMeta, pod.Spec = w.pods[pod.Name].ObjectMeta, w.pods[pod.Name].Spec
		w.pods[pod.Name] = pod
		return nil
	case "resize":
		return w.resizePod(pod)
	}
	return w.patchPod(a, pod)
}

// resizePod takes the resources, and nothing else.
func (w *world) resizePod(to *corev1.Pod) error {
	pod := w.pods[to.Name].DeepCopy()
	for i := range to.Spec.Containers {
		pod.Spec.Containers[i].Resources = to.Spec.Containers[i].Resources
	}
	if !reflect.DeepEqual(pod.Spec, w.pods[to.Name].Spec) {
		pod.Generation++
	}
	w.pods[pod.Name] = pod
	return nil
}

// patchPod refuses what the API server refuses of a running pod.
func (w *world) patchPod(a Action, pod *corev1.Pod) error {
	old := w.pods[pod.Name]
	if a.Generation != 0 && a.Generation != old.Generation {
		return fmt.Errorf("patch %s: changed since it was planned", a.Ref)
	}
	same := pod.Spec.DeepCopy()
	same.ActiveDeadlineSeconds, same.Tolerations = old.Spec.ActiveDeadlineSeconds, old.Spec.Tolerations
	for _, lists := range [][2][]corev1.Container{{same.Containers, old.Spec.Containers}, {same.InitContainers, old.Spec.InitContainers}} {
		if len(lists[0]) != len(lists[1]) {
			w.t.Fatalf("patch %s: the server forbids it: containers come or go", a.Ref)
		}
		for i := range lists[0] {
			lists[0][i].Image = lists[1][i].Image
		}
	}
	if !reflect.DeepEqual(same, &old.Spec) || !startsWith(pod.Spec.Tolerations, old.Spec.Tolerations) {
		w.t.Fatalf("patch %s: the server forbids it: %v", a.Ref, a.Body)
	}
	if !reflect.DeepEqual(pod.Spec, old.Spec) {
		pod.Generation = old.Generation + 1
	}
	w.pods[pod.Name] = pod
	return nil
}

func startsWith(longer, start []corev1.Toleration) bool {
	return len(longer) >= len(start) && reflect.DeepEqual(longer[:len(start):len(start)], start[:len(start):len(start)])
}
