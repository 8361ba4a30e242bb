package cluster

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"situ.gitops/planner"
)

const hidden = "[hidden]"

var (
	// sensitive are the fields whose values are never shown.
	sensitive = regexp.MustCompile(`(^|[.\[])(env|data|stringData|binaryData|command|args|httpHeaders)([.\[\]:=]|$)`)
	// quoted is how the API server repeats a value that it does not like.
	quoted = regexp.MustCompile(`((?:Invalid|Unsupported|Duplicate) value: )("(?:[^"\\]|\\.)*"|[^"\s{\[][^:\s]*(?::\s|$)|.*[}\]](?::\s|$)|.*)`)
	// typed is how server-side apply repeats a value of the wrong type.
	typed = regexp.MustCompile(`&?value\.valueUnstructured\{.*\}`)
	// letter is how a JSON parser repeats where it stopped.
	letter = regexp.MustCompile(`(invalid character )'(?:\\?.)[^']*'`)
	// evaluated is how the server repeats an admission policy's expression, which
	// holds what a SidecarSet gives to pods.
	evaluated = regexp.MustCompile(`(?s)expression '.*?(?:' resulted in error|$)`)
	short     = regexp.MustCompile(`^"(?:[^"\\]|\\.){0,120}"$|^-?[0-9.]+(?::\s)?$|^(?:true|false|null)(?::\s)?$`)
)

// quiet replaces the values that the server repeats: those of sensitive fields,
// and everything that is not a short plain value.
func quiet(ref planner.Ref, field, text string) string {
	secret := ref.Kind == "Secret" || sensitive.MatchString(field)
	text = typed.ReplaceAllString(text, "another type")
	if secret {
		text = letter.ReplaceAllString(text, "${1}"+hidden)
	}
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

// withoutValues replaces known values wherever they are, as a webhook may repeat
// them, and what an admission policy repeats of itself.
func withoutValues(text string, values []string) string {
	text = evaluated.ReplaceAllString(text, "an expression resulted in error")
	for _, value := range values {
		text = strings.ReplaceAll(text, value, hidden)
	}
	return text
}

// secretsIn collects the values of a body that must not be shown, in every form
// that a webhook or a kubelet may give them, longest first. Very short ones are
// left out: they are words of every message.
func secretsIn(ref planner.Ref, body any) []string {
	shortest := 6
	if ref.Kind == "Secret" {
		shortest = 3
	}
	var found []string
	collect(body, "", func(value string) {
		for _, form := range formsOf(value) {
			if len(value) >= shortest && len(form) >= shortest {
				found = append(found, form)
			}
		}
	})
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

// formsOf are the ways in which others write a value: as it is, encoded as the
// server stores it, quoted, and line by line.
func formsOf(value string) []string {
	forms := []string{value, base64.StdEncoding.EncodeToString([]byte(value)), inner(value)}
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= 6 {
				forms = append(forms, line, inner(line))
			}
		}
	}
	return forms
}

// inner is a value as JSON and Go quote it, without the quotes.
func inner(value string) string {
	quoted := strconv.Quote(value)
	return quoted[1 : len(quoted)-1]
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
			if name == "name" && (field == "env" || field == "httpHeaders") {
				continue // not a secret, and needed to find the value
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
