package planner

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// liveField is the JSON text of a change's field in a live pod. It walks the pod
// by the names of its JSON fields, since turning the whole pod into JSON costs
// more than everything else that is asked about it.
func liveField(pod *corev1.Pod, path []step) (text string, ok bool) {
	v := reflect.ValueOf(pod).Elem()
	for _, s := range path {
		if v = fieldOf(v, s.key); !v.IsValid() {
			return "", false
		}
		if s.item == "" {
			continue
		}
		if v = itemOf(v, mergeKeys[s.key], s.item); !v.IsValid() {
			return "", false
		}
	}
	if v = reflect.Indirect(v); !v.IsValid() || v.IsZero() {
		return "", false
	}
	content, err := json.Marshal(v.Interface())
	if err != nil {
		return "", false
	}
	var plain any
	if err := json.Unmarshal(content, &plain); err != nil {
		return "", false
	}
	return jsonText(plain), true // with its keys in order
}

// fieldOf is the field of a struct, or the value of a map, by its JSON name.
func fieldOf(v reflect.Value, name string) reflect.Value {
	v = reflect.Indirect(v)
	switch {
	case !v.IsValid():
		return reflect.Value{}
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		return v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key()))
	case v.Kind() != reflect.Struct:
		return reflect.Value{}
	}
	for i := range v.NumField() {
		tag, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if tag == name {
			return v.Field(i)
		}
		if options == "inline" {
			if inner := fieldOf(v.Field(i), name); inner.IsValid() {
				return inner
			}
		}
	}
	return reflect.Value{}
}

// itemOf is the item of a list by its merge key.
func itemOf(list reflect.Value, keys []string, id string) reflect.Value {
	if list = reflect.Indirect(list); !list.IsValid() || list.Kind() != reflect.Slice {
		return reflect.Value{}
	}
	for i := range list.Len() {
		var parts []string
		for _, key := range keys {
			if part := reflect.Indirect(fieldOf(list.Index(i), key)); part.IsValid() && !part.IsZero() {
				parts = append(parts, fmt.Sprint(part.Interface()))
			}
		}
		if strings.Join(parts, "/") == id {
			return list.Index(i)
		}
	}
	return reflect.Value{}
}
