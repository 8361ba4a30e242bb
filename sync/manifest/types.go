package manifest

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"situ.gitops/planner"
	"situ.gitops/planner/kruise"
)

// types knows the fields of the Kubernetes API. The zero value learns them when
// they are first asked for.
type types struct {
	scheme *runtime.Scheme
	fields map[reflect.Type]map[string]reflect.Type
}

// check compares an object with the Go type of its kind. All mistakes are found
// at once, which no decoder does; of a kind that is not built in, only its
// metadata is known.
func (t *types) check(d *document, at where, ref planner.Ref, object map[string]any) {
	if t.scheme == nil {
		t.scheme = newScheme()
		t.fields = map[reflect.Type]map[string]reflect.Type{}
	}
	known, isKnown := t.scheme.AllKnownTypes()[schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)]
	if fields := kruise.Type(ref); fields != nil {
		known, isKnown = fields, true
	}
	if isKnown {
		t.value(d, at, object, known)
		return
	}
	if way := t.misspelt(ref); way != "" {
		d.say(at.field("kind"), "%s", way)
		return
	}
	t.value(d, at.field("metadata"), object["metadata"], reflect.TypeFor[metav1.ObjectMeta]())
}

// value checks one value and all below it.
func (t *types) value(d *document, at where, value any, want reflect.Type) {
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	if value == nil || want.Kind() == reflect.Interface {
		return
	}
	if reflect.PointerTo(want).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		checkSpecial(d, at, value, want)
		return
	}
	switch want.Kind() {
	case reflect.Struct, reflect.Map:
		fields, ok := value.(map[string]any)
		if !ok {
			d.say(at, "is %s; want a mapping", describe(value))
			return
		}
		t.mapping(d, at, fields, want)
	case reflect.Slice:
		t.slice(d, at, value, want)
	default:
		checkScalar(d, at, value, want.Kind())
	}
}

func (t *types) mapping(d *document, at where, fields map[string]any, want reflect.Type) {
	var known map[string]reflect.Type
	if want.Kind() == reflect.Struct {
		known = t.fieldsOf(want)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if want.Kind() == reflect.Map {
			t.value(d, at.field(name), fields[name], want.Elem())
			continue
		}
		field, ok := known[name]
		if !ok {
			d.say(at.field(name), "is not a field of Kubernetes%s", suggestion(name, known))
			continue
		}
		t.value(d, at.field(name), fields[name], field)
	}
}

func (t *types) slice(d *document, at where, value any, want reflect.Type) {
	if want.Elem().Kind() == reflect.Uint8 {
		text, ok := value.(string)
		if _, err := base64.StdEncoding.DecodeString(text); !ok || err != nil {
			d.say(at, "is not base64; encode it, or put plain text into stringData")
		}
		return
	}
	list, ok := value.([]any)
	if !ok {
		d.say(at, "is %s; want a list", describe(value))
		return
	}
	for i, item := range list {
		t.value(d, at.item(i), item, want.Elem())
	}
}

// fieldsOf are the fields of a struct by their JSON names, those of embedded
// structs among them.
func (t *types) fieldsOf(s reflect.Type) map[string]reflect.Type {
	if fields, ok := t.fields[s]; ok {
		return fields
	}
	fields := map[string]reflect.Type{}
	for i := range s.NumField() {
		f := s.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			maps.Copy(fields, t.fieldsOf(embedded))
		case name == "":
			fields[f.Name] = f.Type
		default:
			fields[name] = f.Type
		}
	}
	t.fields[s] = fields
	return fields
}

// checkScalar says what is there, never its value.
func checkScalar(d *document, at where, value any, want reflect.Kind) {
	switch want {
	case reflect.String:
		if _, ok := value.(string); !ok {
			d.say(at, "is %s; want text%s", describe(value), quoteHint(value))
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			d.say(at, "is %s; want true or false, without quotes", describe(value))
		}
	case reflect.Float32, reflect.Float64:
		if !isNumber(value) {
			d.say(at, "is %s; want a number, without quotes", describe(value))
		}
	default:
		n, ok := value.(int64)
		switch {
		case !ok:
			d.say(at, "is %s; want a whole number, without quotes", describe(value))
		case want == reflect.Int32 && (n > math.MaxInt32 || n < math.MinInt32):
			d.say(at, "is %d; want a number of at most 32 bits", n)
		}
	}
}

func isNumber(value any) bool {
	switch value.(type) {
	case int64, float64:
		return true
	}
	return false
}

func quoteHint(value any) string {
	if _, isBool := value.(bool); isBool || isNumber(value) {
		return ", so put it in quotes"
	}
	return ""
}

// describe names what a value is without showing it.
func describe(value any) string {
	switch value.(type) {
	case nil:
		return "nothing"
	case bool:
		return "a boolean, as YAML reads yes, no, on and off"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case string:
		return "text"
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}
