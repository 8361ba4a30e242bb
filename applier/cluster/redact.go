package cluster

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"situ.gitops/planner"
)

const hidden = "[hidden]"

var (
	// sensitive are the fields whose values are never shown.
	sensitive = regexp.MustCompile(`(^|[.\[])(env|data|stringData|binaryData|command|args)([.\[\]:=]|$)`)
	// quoted is how the API server repeats a value that it does not like.
	quoted = regexp.MustCompile(`((?:Invalid|Unsupported|Duplicate) value: )("(?:[^"\\]|\\.)*"|[^"\s{\[][^:\s]*(?::\s|$)|.*[}\]](?::\s|$)|.*)`)
	// typed is how server-side apply repeats a value of the wrong type.
	typed = regexp.MustCompile(`&?value\.valueUnstructured\{.*\}`)
	short = regexp.MustCompile(`^"(?:[^"\\]|\\.){0,120}"$|^-?[0-9.]+(?::\s)?$|^(?:true|false|null)(?::\s)?$`)
)

// quiet replaces the values that the server repeats: those of sensitive fields,
// and everything that is not a short plain value.
func quiet(ref planner.Ref, field, text string) string {
	secret := ref.Kind == "Secret" || sensitive.MatchString(field)
	text = typed.ReplaceAllString(text, "another type")
	return quoted.ReplaceAllStringFunc(text, func(found string) string {
		parts := quoted.FindStringSubmatch(found)
		if !secret && short.MatchString(parts[2]) {
			return found
		}
		if strings.HasSuffix(parts[2], ": ") {
			return parts[1] + hidden + ": "
		}
		return parts[1] + hidden
	})
}

// withoutValues replaces known values wherever they are, as a webhook may repeat them.
func withoutValues(text string, values []string) string {
	for _, value := range values {
		text = strings.ReplaceAll(text, value, hidden)
	}
	return text
}

// secretsIn collects the values of a body that must not be shown, longest first.
// Very short ones are left out: they are words of every message.
func secretsIn(ref planner.Ref, body any) []string {
	shortest := 6
	if ref.Kind == "Secret" {
		shortest = 3
	}
	var found []string
	add := func(value string) {
		if len(value) >= shortest {
			found = append(found, value)
		}
	}
	collect(body, "", add)
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

// collect walks a body; below a sensitive field every string counts.
func collect(node any, field string, add func(string)) {
	switch node := node.(type) {
	case map[string]any:
		for name, value := range node {
			below := field
			if field == "" && sensitive.MatchString(name) {
				below = name
			}
			if field == "env" && name == "name" {
				continue // of a variable: not a secret, and needed to find it
			}
			collect(value, below, add)
		}
	case []any:
		for _, value := range node {
			collect(value, field, add)
		}
	case string:
		if field == "" {
			return
		}
		add(node)
		if field == "data" {
			if plain, err := base64.StdEncoding.DecodeString(node); err == nil {
				add(string(plain))
			}
		}
	case bool, nil:
	default:
		if field != "" {
			add(fmt.Sprint(node))
		}
	}
}
