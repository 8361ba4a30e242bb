package planner

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPriorityComesBeforeTheHostsOrder(t *testing.T) {
	selects := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	pods := map[string]map[string]string{
		"a": {"rank": "r-5", "zone": "east"}, "b": {"rank": "r-10"}, "c": {}, "d": {"spare": "2", "zone": "west"}, "e": {"rank": "last"},
	}
	for _, tt := range []struct {
		name     string
		priority Priority
		want     []string
	}{
		{"none", Priority{}, []string{"a", "b", "c", "d", "e"}},
		{"the number at the end, high first; a pod without the label comes last", Priority{Keys: []string{"rank"}}, []string{"b", "a", "e", "c", "d"}},
		{"the first label that a pod has", Priority{Keys: []string{"spare", "rank"}}, []string{"d", "b", "a", "e", "c"}},
		{"weights", Priority{Weights: []Weight{{10, selects("zone", "west")}, {20, selects("zone", "east")}}}, []string{"a", "d", "b", "c", "e"}},
		{"weights add up", Priority{Weights: []Weight{{10, selects("zone", "east")}, {15, selects("zone", "west")}, {6, selects("rank", "r-5")}}}, []string{"a", "d", "b", "c", "e"}},
		{"weights outrank keys", Priority{Weights: []Weight{{1, selects("rank", "r-5")}}, Keys: []string{"spare"}}, []string{"a", "b", "c", "d", "e"}},
		{"a broken selector matches nothing", Priority{Weights: []Weight{{1, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Operator: "Odd"}}}}}}, []string{"a", "b", "c", "d", "e"}},
	} {
		var cases []podCase
		for name, labels := range pods {
			cases = append(cases, podCase{pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}})
		}
		byName := func(a, b *podCase) bool { return a.pod.Name < b.pod.Name }
		if got := caseNames(inOrder(cases, tt.priority.over(byName))); !slices.Equal(got, tt.want) {
			t.Errorf("%s: the order is %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestScatteredPodsAreSpreadOverTheUpdate(t *testing.T) {
	marked := func(current int, names ...string) []podCase {
		var cases []podCase
		for i, name := range names {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kind": name[:1]}}}
			cases = append(cases, podCase{pod: pod, current: i < current})
		}
		return cases
	}
	gold := []Scatter{{"kind", "g"}}
	for _, tt := range []struct {
		name    string
		scatter []Scatter
		cases   []podCase
		want    []string
	}{
		{"first, middle and last of ten", gold, marked(0, "g1", "g2", "g3", "x1", "x2", "x3", "x4", "x5", "x6", "x7"),
			[]string{"g1", "x1", "x2", "x3", "x4", "g2", "x5", "x6", "x7", "g3"}},
		{"the same places when some are done", gold, marked(2, "g1", "x1", "g2", "g3", "x2", "x3", "x4", "x5", "x6", "x7"),
			[]string{"g1", "x1", "x2", "x3", "x4", "g2", "x5", "x6", "x7", "g3"}},
		{"more of them than of others", gold, marked(0, "g1", "g2", "g3", "x1"), []string{"g1", "x1", "g2", "g3"}},
		{"one alone stays where it is", gold, marked(0, "x1", "g1", "x2"), []string{"x1", "g1", "x2"}},
		{"nothing else to be spread over", gold, marked(0, "g1", "g2"), []string{"g1", "g2"}},
		{"another value", []Scatter{{"kind", "y"}}, marked(0, "g1", "x1", "g2"), []string{"g1", "x1", "g2"}},
		{"nothing asked for", nil, marked(0, "g1", "x1", "g2"), []string{"g1", "x1", "g2"}},
	} {
		if got := caseNames((Settings{Scatter: tt.scatter}).scattered(tt.cases)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: the order is %v, want %v", tt.name, got, tt.want)
		}
	}
}

func caseNames(cases []podCase) []string {
	var names []string
	for i := range cases {
		names = append(names, cases[i].pod.Name)
	}
	return names
}
