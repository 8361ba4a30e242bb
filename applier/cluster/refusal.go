package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"situ.gitops/planner"
)

// verdict is what an API server's answer means for a proof.
type verdict int

const (
	accepted   verdict = iota
	missing            // its kind or namespace is not there
	refused            // a person must change something
	unanswered         // ask again
)

// objectFaults are errors that look like the server's own, but are about the one
// object: of a wrong type, of a field that the kind does not have, of a webhook.
var objectFaults = []string{
	"failed to create typed patch object", "failed to convert new object", "field not declared in schema", "failed calling webhook",
}

// verdictOn reads an answer: first match decides.
func verdictOn(err error) verdict {
	var answer apierrors.APIStatus
	switch {
	case err == nil:
		return accepted
	case errors.Is(err, errKindMissing), apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return missing
	case !errors.As(err, &answer), apierrors.IsUnauthorized(err), apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err):
		return unanswered
	case slices.ContainsFunc(objectFaults, func(words string) bool { return strings.Contains(err.Error(), words) }):
		return refused
	case answer.Status().Code >= http.StatusBadRequest && answer.Status().Code < http.StatusInternalServerError:
		return refused
	}
	return unanswered
}

// failed is an error in the server's words, made safe to show. Its cause is there
// for errors.As, not for printing.
type failed struct {
	text  string
	cause error
}

func (f failed) Error() string { return f.text }
func (f failed) Unwrap() error { return f.cause }

// failure says what was being done to what, with the server's words made safe.
func failure(verb string, ref planner.Ref, body any, cause error) error {
	return fmt.Errorf("%s %s: %w", verb, ref, failed{text: clean(cause, ref, body), cause: cause})
}

// clean gives the server's own words without noise, and without any value that
// may be secret: those of Secrets, env, commands and whole objects.
func clean(err error, ref planner.Ref, body any) string {
	text := withoutURL(err).Error()
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		text = words(answer.Status(), ref)
	}
	return shorten(withoutValues(text, secretsIn(ref, body)))
}

// withoutURL takes the network's fault out of a long request that names it last.
func withoutURL(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// words are the causes that the server lists, or its message.
func words(status metav1.Status, ref planner.Ref) string {
	if status.Reason == metav1.StatusReasonInvalid && status.Details != nil && len(status.Details.Causes) > 0 {
		var lines []string
		for _, cause := range status.Details.Causes {
			line := quiet(ref, cause.Field, firstLine(cause.Message))
			if cause.Field != "" && cause.Field != "<nil>" {
				line = cause.Field + ": " + line
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "; ")
	}
	text := preamble.ReplaceAllString(firstLine(status.Message), "")
	return quiet(ref, text, text)
}

// preamble is what server-side apply says before it comes to the point.
var preamble = regexp.MustCompile(`^.*failed to (?:create typed patch object|convert new object) \([^)]*\)(?: to proper version: .*?, Kind=\w+)?: `)

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSuffix(strings.TrimSpace(line), ":")
}

// shorten bounds what a note has to carry.
func shorten(text string) string {
	const most = 600
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "..."
}
