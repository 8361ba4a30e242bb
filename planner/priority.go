package planner

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Priority says which pods are updated first. Weights outrank keys.
//
//	Weights   the heavier, the earlier; a pod that nothing matches weighs 0
//	Keys      pods with the first of these labels, then those with the second...;
//	          among them, the higher the number that its value ends in, the
//	          earlier; pods with none of them come last
//
// Where it says nothing, the host's own order holds.
type Priority struct {
	Weights []Weight
	Keys    []string
}

// Weight is what pods with some labels weigh.
type Weight struct {
	Weight   int
	Selector *metav1.LabelSelector
}

// over puts a priority before an order.
func (p Priority) over(before func(a, b *podCase) bool) func(a, b *podCase) bool {
	if len(p.Weights) == 0 && len(p.Keys) == 0 {
		return before
	}
	weigh := p.byKey
	if len(p.Weights) > 0 {
		weigh = p.byWeight()
	}
	return func(a, b *podCase) bool {
		if order := weigh(a.pod.Labels, b.pod.Labels); order != 0 {
			return order < 0
		}
		return before(a, b)
	}
}

func (p Priority) byWeight() func(a, b map[string]string) int {
	selectors := make([]labels.Selector, len(p.Weights))
	for i, w := range p.Weights {
		selector, err := metav1.LabelSelectorAsSelector(w.Selector)
		if err != nil {
			selector = labels.Nothing() // a mistake of the manifest, and told as one
		}
		selectors[i] = selector
	}
	sum := func(pod map[string]string) int {
		total := 0
		for i, w := range p.Weights {
			if selectors[i].Matches(labels.Set(pod)) {
				total += w.Weight
			}
		}
		return total
	}
	return func(a, b map[string]string) int { return sum(b) - sum(a) }
}

func (p Priority) byKey(a, b map[string]string) int {
	level := func(pod map[string]string) int {
		at := slices.IndexFunc(p.Keys, func(key string) bool { _, has := pod[key]; return has })
		if at < 0 {
			return len(p.Keys)
		}
		return at
	}
	la, lb := level(a), level(b)
	if la != lb || la == len(p.Keys) {
		return la - lb
	}
	return cmp.Compare(numberAtEnd(b[p.Keys[la]]), numberAtEnd(a[p.Keys[la]]))
}

// numberAtEnd is 10 for "rank-10", and 0 where there is no number.
func numberAtEnd(text string) int {
	n, err := strconv.Atoi(text[len(strings.TrimRight(text, "0123456789")):])
	if err != nil {
		return 0
	}
	return n
}

// Scatter is a label. Pods that have it are spread over the update, so that they
// do not all go one after the other.
type Scatter struct{ Key, Value string }

// scattered spreads pods over the order that they come in, the most frequent
// label first. What is updated already counts, so the places stay the same from
// round to round.
func (s Settings) scattered(cases []podCase) []podCase {
	count := func(label Scatter) int {
		n := 0
		for i := range cases {
			n += label.has(&cases[i])
		}
		return n
	}
	byFrequency := slices.Clone(s.Scatter)
	slices.SortStableFunc(byFrequency, func(a, b Scatter) int { return count(b) - count(a) })
	for _, label := range byFrequency {
		cases = label.spread(cases, count(label))
	}
	return cases
}

func (s Scatter) has(c *podCase) int {
	if value, ok := c.pod.Labels[s.Key]; ok && value == s.Value {
		return 1
	}
	return 0
}

// spread merges those that have the label with the others: the first goes first,
// the last one last, and between two of them go as many others as can.
func (s Scatter) spread(cases []podCase, count int) []podCase {
	others := len(cases) - count
	if count < 2 || others < 1 {
		return cases
	}
	var done, with, without []podCase
	spent, passed := 0, 0
	for _, c := range cases {
		has := s.has(&c)
		switch {
		case c.current:
			done, spent, passed = append(done, c), spent+has, passed+1-has
		case has == 1:
			with = append(with, c)
		default:
			without = append(without, c)
		}
	}
	for len(with) > 0 && len(without) > 0 {
		due := (2*spent*others + count - 1) / (2 * (count - 1)) // rounded to the nearest, a half up
		if passed >= due {
			done, with, spent = append(done, with[0]), with[1:], spent+1
			continue
		}
		done, without, passed = append(done, without[0]), without[1:], passed+1
	}
	return slices.Concat(done, with, without)
}
