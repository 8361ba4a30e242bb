package manifest

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// special is one row of the types that read their JSON themselves.
type special struct {
	is   reflect.Type
	want string
}

var specials = []special{
	{reflect.TypeFor[resource.Quantity](), "a quantity such as 2, 500m or 128Mi"},
	{reflect.TypeFor[intstr.IntOrString](), "a whole number or text such as 25%"},
	{reflect.TypeFor[metav1.Time](), "a time such as 2006-01-02T15:04:05Z"},
	{reflect.TypeFor[metav1.MicroTime](), "a time such as 2006-01-02T15:04:05.000000Z"},
	{reflect.TypeFor[metav1.Duration](), "a duration such as 90s or 1h30m"},
}

// checkSpecial lets the type itself judge, but not speak: its errors quote the value.
func checkSpecial(d *document, at where, value any, want reflect.Type) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(want).Interface())
	}
	if err == nil {
		return
	}
	for _, row := range specials {
		if row.is == want {
			d.say(at, "is %s that Kubernetes cannot read here; want %s", describe(value), row.want)
			return
		}
	}
	d.say(at, "is %s that Kubernetes cannot read here", describe(value))
}

// suggestion finds the field that was meant: another case, or one letter off.
func suggestion(name string, known map[string]reflect.Type) string {
	best := ""
	for candidate := range known {
		if near(name, candidate) && (best == "" || candidate < best) {
			best = candidate
		}
	}
	if best == "" {
		return " here; remove it, or mend its name or indentation"
	}
	return " here; did you mean " + best + "?"
}

// near: equal but for case, or for one letter too many, too few, other or swapped.
func near(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) || a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
