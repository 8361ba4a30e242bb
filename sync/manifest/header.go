package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"situ.gitops/planner"
)

// naming is one row of which names a kind may have.
type naming struct {
	group string // "*" is any
	kinds []string
	wrong func(string) []string
	want  string
}

const (
	labelWords     = `at most 63 lower case letters, digits or "-", starting and ending with a letter or digit`
	subdomainWords = `at most 253 lower case letters, digits, "-" or ".", each part starting and ending with a letter or digit`
)

// namings are tried in their order. Kinds that are not built in may have looser
// names, which the last row allows.
var namings = []naming{
	{"", []string{"Namespace"}, validation.IsDNS1123Label, labelWords},
	{"", []string{"Service"}, validation.IsDNS1035Label, labelWords + ", and no digit first"},
	{"", nil, validation.IsDNS1123Subdomain, subdomainWords},
	{"apps", nil, validation.IsDNS1123Subdomain, subdomainWords},
	{"apps.kruise.io", nil, validation.IsDNS1123Subdomain, subdomainWords},
	{"batch", nil, validation.IsDNS1123Subdomain, subdomainWords},
	{"networking.k8s.io", nil, validation.IsDNS1123Subdomain, subdomainWords},
	{"*", nil, content.IsPathSegmentName, `neither "/" nor "%", and not "." or ".."`},
}

func (n naming) covers(ref planner.Ref) bool {
	if n.group != "*" && n.group != ref.Group() {
		return false
	}
	for _, kind := range n.kinds {
		if kind == ref.Kind {
			return true
		}
	}
	return len(n.kinds) == 0
}

// header reads what every object must have: what it is and what it is called.
func (d *document) header(at where, fields map[string]any) (planner.Ref, bool) {
	before := len(d.mistakes)
	ref := planner.Ref{
		APIVersion: d.text(at, fields, "apiVersion", "text such as v1 or apps/v1"),
		Kind:       d.text(at, fields, "kind", "text such as Deployment"),
	}
	if strings.Count(ref.APIVersion, "/") > 1 || strings.HasPrefix(ref.APIVersion, "/") || strings.HasSuffix(ref.APIVersion, "/") {
		d.say(at.field("apiVersion"), "is %q; want a version or group/version, such as v1 or apps/v1", short(ref.APIVersion))
	}
	metadata, isMap := fields["metadata"].(map[string]any)
	if fields["metadata"] != nil && !isMap {
		d.say(at.field("metadata"), "is %s; want a mapping with a name", describe(fields["metadata"]))
		return ref, false
	}
	d.name(at.field("metadata"), metadata, &ref)
	return ref, len(d.mistakes) == before
}

func (d *document) name(at where, metadata map[string]any, ref *planner.Ref) {
	if metadata["generateName"] != nil {
		d.say(at.field("generateName"), "would make another object in every round; give it a name instead")
		return
	}
	ref.Name = d.text(at, metadata, "name", "the name of the object")
	if ref.Name != "" {
		d.checkName(at.field("name"), *ref)
	}
	if metadata["namespace"] == nil {
		return
	}
	ref.Namespace = d.text(at, metadata, "namespace", "the name of a namespace")
	if ref.Namespace != "" && len(validation.IsDNS1123Label(ref.Namespace)) > 0 {
		d.say(at.field("namespace"), "is %q; want %s", short(ref.Namespace), labelWords)
	}
}

func (d *document) checkName(at where, ref planner.Ref) {
	for _, row := range namings {
		if !row.covers(ref) {
			continue
		}
		if len(row.wrong(ref.Name)) > 0 {
			d.say(at, "is %q; want %s", short(ref.Name), row.want)
		}
		return
	}
}

// text reads a field that must be there and be text.
func (d *document) text(at where, fields map[string]any, name, want string) string {
	switch value := fields[name].(type) {
	case nil:
		d.say(at.field(name), "is missing; want %s", want)
	case string:
		if value == "" {
			d.say(at.field(name), "is empty; want %s", want)
		}
		return value
	default:
		d.say(at.field(name), "is %s; want %s, as text in quotes", describe(value), want)
	}
	return ""
}
