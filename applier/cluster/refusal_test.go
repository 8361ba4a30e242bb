package cluster

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"situ.gitops/planner"
)

var web = planner.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}

func invalid(field, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "noise " + message,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: field, Message: message}}},
	}}
}

func answered(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}}
}

func TestRefusalsAreInTheServersWordsButWithoutSecrets(t *testing.T) {
	body := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "app", "env": []any{map[string]any{"name": "TOKEN", "value": "hunter2-token"}}, "args": []any{"--key=hunter2-args"},
	}}}}
	secret := planner.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "key"}
	for _, tt := range []struct {
		name string
		ref  planner.Ref
		body any
		err  error
		want string
	}{
		{"plain value", web, body, invalid("spec.replicas", `Invalid value: -1: must be greater than or equal to 0`),
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"quoted value", web, body, invalid("spec.containers[0].imagePullPolicy", `Unsupported value: "Sometimes": supported values: "Always", "Never"`),
			`spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never"`},
		{"env", web, body, invalid("spec.containers[0].env[0].valueFrom", `Invalid value: "swordfish: \"x\"": may not be specified`),
			"spec.containers[0].env[0].valueFrom: Invalid value: [hidden]: may not be specified"},
		{"whole object", web, body, invalid("spec.template", `Invalid value: {"spec":{"env":[{"value":"swordfish: x"}]}}: field is immutable`),
			"spec.template: Invalid value: [hidden]: field is immutable"},
		{"go value", web, body, invalid("spec.template", `Invalid value: core.PodTemplateSpec{Env:"swordfish: x", More: 1}: field is immutable`),
			"spec.template: Invalid value: [hidden]: field is immutable"},
		{"any value of a secret", secret, nil, invalid("data[x]", `Invalid value: "swordfish": must be base64`),
			"data[x]: Invalid value: [hidden]: must be base64"},
		{"diff behind the first line", web, body, invalid("spec", "Forbidden: pod updates may not change fields other than these:\n  Env: swordfish"),
			"spec: Forbidden: pod updates may not change fields other than these"},
		{"webhook repeats env and args", web, body, answered(http.StatusForbidden, metav1.StatusReasonForbidden,
			`admission webhook "x" denied the request: hunter2-token and --key=hunter2-args`),
			`admission webhook "x" denied the request: [hidden] and [hidden]`},
		{"a policy repeats what it gives to pods", web, nil, answered(http.StatusForbidden, metav1.StatusReasonForbidden,
			`policy 'mesh' with binding 'mesh' denied request: expression '[{"env": "a 'swordfish' b"}]' resulted in error: no such key: x`),
			"policy 'mesh' with binding 'mesh' denied request: an expression resulted in error: no such key: x"},
		{"a policy repeats the first line of it", web, nil, answered(http.StatusForbidden, metav1.StatusReasonForbidden,
			"denied request: expression '[\"swordfish\",\n  \"b\"]' resulted in error: no such key: x"), "denied request: an expression resulted in error"},
		{"webhook repeats a secret", secret, map[string]any{"data": map[string]any{"k": "c3dvcmRmaXNo"}},
			answered(http.StatusForbidden, metav1.StatusReasonForbidden, `denied: c3dvcmRmaXNo is swordfish`), "denied: [hidden] is [hidden]"},
		{"policy repeats a secret as it is stored", secret, map[string]any{"stringData": map[string]any{"k": "swordfish"}},
			answered(http.StatusForbidden, metav1.StatusReasonForbidden, `denied: k=c3dvcmRmaXNo`), "denied: k=[hidden]"},
		{"webhook repeats lines, and quotes them", secret, map[string]any{"stringData": map[string]any{"k": "first-swordfish\nsecond \"swordfish\""}},
			answered(http.StatusForbidden, metav1.StatusReasonForbidden, `denied: first-swordfish, "second \"swordfish\"", "first-swordfish\nsecond \"swordfish\""`),
			`denied: [hidden], "[hidden]", "[hidden]"`},
		{"webhook repeats a header", web, map[string]any{"httpHeaders": []any{map[string]any{"name": "Authorization", "value": "Bearer swordfish"}}},
			answered(http.StatusForbidden, metav1.StatusReasonForbidden, `denied: Authorization: Bearer swordfish`), "denied: Authorization: [hidden]"},
		{"parser repeats a letter of a secret", secret, nil, invalid("data[.dockerconfigjson]", `Invalid value: "<secret contents redacted>": invalid character 's' looking for beginning of value`),
			"data[.dockerconfigjson]: Invalid value: [hidden]: invalid character [hidden] looking for beginning of value"},
		{"typed", web, body, answered(http.StatusInternalServerError, "", `failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.x: field not declared in schema`),
			".spec.x: field not declared in schema"},
		{"typed value", web, body, answered(http.StatusInternalServerError, "", `.spec.env: expected string, got &value.valueUnstructured{Value:"swordfish"}`),
			".spec.env: expected string, got another type"},
		{"converted", secret, nil, answered(http.StatusInternalServerError, "", `failed to convert new object (shop/key; /v1, Kind=Secret) to proper version: unable to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 7`),
			"error decoding from json: illegal base64 data at input byte 7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := clean(tt.err, tt.ref, tt.body)
			if got != tt.want {
				t.Errorf("clean = %q, want %q", got, tt.want)
			}
			if strings.Contains(got, "swordfish") || strings.Contains(got, "hunter2") {
				t.Errorf("clean shows a secret: %q", got)
			}
		})
	}
}

func TestOnlyAnAnswerAboutTheObjectIsARefusal(t *testing.T) {
	resource := schema.GroupResource{Resource: "things"}
	for _, tt := range []struct {
		name string
		err  error
		want verdict
	}{
		{"accepted", nil, accepted},
		{"not found", apierrors.NewNotFound(resource, "x"), missing},
		{"kind not served", errKindMissing, missing},
		{"namespace ends", &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}, missing},
		{"invalid", invalid("spec", "x"), refused},
		{"forbidden", apierrors.NewForbidden(resource, "x", errors.New("no")), refused},
		{"webhook's own code", answered(418, "", "teapot"), refused},
		{"webhook away", apierrors.NewInternalError(errors.New("failed calling webhook \"x\": refused")), refused},
		{"unauthorized", apierrors.NewUnauthorized("x"), unanswered},
		{"throttled", apierrors.NewTooManyRequests("x", 1), unanswered},
		{"server fault", apierrors.NewInternalError(errors.New("etcd")), unanswered},
		{"timeout", apierrors.NewTimeoutError("x", 1), unanswered},
		{"network", errors.New("connection refused"), unanswered},
	} {
		if got := verdictOn(tt.err); got != tt.want {
			t.Errorf("%s: verdictOn = %v, want %v", tt.name, got, tt.want)
		}
	}
}
