package manifest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"situ.gitops/planner"
)

// Bounds on one file; what it unfolds to has bounds of its own.
const (
	maxFileBytes = 5 << 20
	maxDocuments = 2000
)

const notKubernetes = "it is not a Kubernetes object: it has no apiVersion and no kind; " +
	"move the file out of the path, or list it in " + ignoreFile

// parse reads all documents of a file.
func (t *types) parse(f File) []document {
	if len(f.Content) > maxFileBytes {
		return wholeFile("it has more than %d MiB; split it", maxFileBytes>>20)
	}
	if isJSON(f.Path) {
		return t.parseJSON(f.Content)
	}
	chunks := split(f.Content)
	if len(chunks) > maxDocuments {
		return wholeFile("it has more than %d documents; split it", maxDocuments)
	}
	docs := make([]document, 0, len(chunks))
	values := 0
	for i, c := range chunks {
		d := document{number: i + 1, line: c.line, types: t, values: values}
		root, wrong := decodeYAML(c)
		d.read(root, wrong)
		values = d.values
		docs = append(docs, d.closed())
		if d.over {
			break // whoever writes one bomb may have written many
		}
	}
	return docs
}

func (t *types) parseJSON(content []byte) []document {
	roots, wrong := decodeJSON(content)
	var docs []document
	values := 0
	for i, root := range roots {
		d := document{number: i + 1, line: 1, types: t, values: values}
		d.read(root, nil)
		values = d.values
		docs = append(docs, d.closed())
	}
	if wrong != nil {
		docs = append(docs, document{number: len(docs) + 1, mistakes: []mistake{*wrong}})
	}
	return docs
}

func wholeFile(format string, args ...any) []document {
	return []document{{mistakes: []mistake{{text: fmt.Sprintf(format, args...)}}}}
}

// closed lets go of what only reading needed.
func (d *document) closed() document {
	return document{number: d.number, manifests: d.manifests, mistakes: d.mistakes}
}

// read fills in the manifests of the document, or its mistakes. A document with
// a mistake in its text gives no manifest; of a List, only the items with mistakes
// are left out.
func (d *document) read(root *yaml.Node, wrong *mistake) {
	if wrong != nil {
		d.mistakes = append(d.mistakes, *wrong)
		return
	}
	if root == nil {
		return
	}
	d.root = root
	value := d.plain(root, make(where, 0, 16))
	fields, isMap := value.(map[string]any)
	switch {
	case value == nil && len(d.mistakes) == 0: // only a null
	case value != nil && !isMap:
		d.mistakes = nil
		d.say(nil, "it holds %s; want a Kubernetes object", describe(value))
	case isMap && fields["apiVersion"] == nil && fields["kind"] == nil && !d.over:
		d.mistakes = nil
		d.say(nil, notKubernetes)
	case len(d.mistakes) == 0:
		d.objects(fields)
	}
}

// objects are the items of a List, or the one object that the document holds.
func (d *document) objects(fields map[string]any) {
	kind, _ := fields["kind"].(string)
	items, hasItems := fields["items"]
	if !strings.HasSuffix(kind, "List") || !hasItems {
		d.object(nil, fields)
		return
	}
	list, ok := items.([]any)
	if !ok {
		d.say(where{"items"}, "is %s; want a list of objects", describe(items))
		return
	}
	for i, item := range list {
		at := where{"items", i}
		object, ok := item.(map[string]any)
		if !ok {
			d.say(at, "is %s; want an object", describe(item))
			continue
		}
		// A typed list says once what its items are.
		if of := strings.TrimSuffix(kind, "List"); of != "" && object["kind"] == nil && object["apiVersion"] == nil {
			object["kind"], object["apiVersion"] = of, fields["apiVersion"]
		}
		if inner, _ := object["kind"].(string); strings.HasSuffix(inner, "List") && object["items"] != nil {
			d.say(at, "is a list within a list; write its items here")
			continue
		}
		d.object(at, object)
	}
}

// object adds one manifest if nothing is wrong with it.
func (d *document) object(at where, fields map[string]any) {
	before := len(d.mistakes)
	dropServerFields(fields)
	if version, _ := fields["apiVersion"].(string); strings.HasPrefix(version, "kustomize.config.k8s.io/") {
		d.say(at, "it is a kustomization, and situ does not build these; commit the output of \"kustomize build\", and list this file in "+ignoreFile)
		return
	}
	ref, ok := d.header(at, fields)
	if ok {
		d.types.check(d, at, ref, fields)
	}
	m := planner.Manifest{Ref: ref, Object: fields}
	if ok && len(d.mistakes) == before {
		d.promises(at, ref, fields)
		d.foreign(at, ref, fields)
		d.settings(at, m)
		d.hosting(at, m)
	}
	if len(d.mistakes) == before {
		d.manifests = append(d.manifests, m)
	}
}

// dropServerFields takes out what only the server may write.
func dropServerFields(fields map[string]any) {
	delete(fields, "status")
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		return
	}
	for _, name := range []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
		delete(metadata, name)
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		return
	}
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	delete(annotations, "deployment.kubernetes.io/revision")
}
