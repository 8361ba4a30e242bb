package planner

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// manifest reads one object as sync/manifest does: whole numbers stay whole.
func manifest(t testing.TB, text string) Manifest {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	return Manifest{
		Ref: Ref{
			APIVersion: textAt(object, "apiVersion"), Kind: textAt(object, "kind"),
			Namespace: textAt(object, "metadata", "namespace"), Name: textAt(object, "metadata", "name"),
		},
		Origin: Origin{File: "web.yaml", Document: 1}, Object: object,
	}
}

// edit is a change that somebody commits.
type edit func(object map[string]any)

// image gives container i another image.
func image(i int, name string) edit {
	return func(o map[string]any) { containers(o)[i].(map[string]any)["image"] = name }
}

func env(value string) edit {
	return func(o map[string]any) {
		containers(o)[0].(map[string]any)["env"] = []any{map[string]any{"name": "LOG", "value": value}}
	}
}

func set1(value any, path ...string) edit {
	return func(o map[string]any) {
		at := o
		for _, key := range path[:len(path)-1] {
			at = sub(at, key)
		}
		at[path[len(path)-1]] = value
	}
}

func annotate(key, value string) edit { return set1(value, "metadata", "annotations", key) }

func podAnnotation(key, value string) edit {
	return func(o map[string]any) {
		if o["kind"] == "Pod" {
			set1(value, "metadata", "annotations", key)(o)
			return
		}
		set1(value, "spec", "template", "metadata", "annotations", key)(o)
	}
}

func containers(o map[string]any) []any {
	if o["kind"] == "Pod" {
		return at(o, "spec", "containers").([]any)
	}
	return at(o, "spec", "template", "spec", "containers").([]any)
}

func edited(m Manifest, edits ...edit) Manifest {
	m.Object = clone(m.Object).(map[string]any)
	for _, e := range edits {
		e(m.Object)
	}
	return m
}
