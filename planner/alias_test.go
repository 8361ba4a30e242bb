package planner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A container whose image an unfinished update has given another name, for a
// restart, has the image that is wanted: it is not given the bare tag back.
func TestAnAliasOfTheWantedImageIsNoRemainder(t *testing.T) {
	const alias = "app:v2@sha256:0123"
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: alias}}}}
	want := Template{"spec": map[string]any{"containers": []any{map[string]any{"name": "app", "image": "app:v2"}}}}
	change := Change{Old: "app:v1", New: "app:v2", path: []step{{key: "spec"}, {key: "containers", item: "app"}, {key: "image"}}}
	for _, tt := range []struct {
		name  string
		alias map[string]string
		has   bool
	}{
		{"ours", map[string]string{alias: "app:v2"}, true},
		{"of another image", map[string]string{alias: "app:v1"}, false},
		{"somebody else's", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mark := Mark{Partial: true, Touched: []string{"containers/app"}, Alias: tt.alias}
			if got := reached(pod, mark, change); got != tt.has {
				t.Errorf("reached = %t, want %t", got, tt.has)
			}
			if rest := remainder(pod, mark, want, nil); (len(rest) == 0) != tt.has {
				t.Errorf("remainder = %v, want none: %t", rest, tt.has)
			}
		})
	}
}
