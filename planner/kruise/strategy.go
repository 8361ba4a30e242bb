package kruise

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/planner"
)

// What several kinds ask of the planner in the same words.

// priority is a checked priority strategy in the planner's words.
func priority(strategy *UpdatePriorityStrategy) planner.Priority {
	var p planner.Priority
	if strategy == nil {
		return p
	}
	for i := range strategy.WeightPriority {
		term := strategy.WeightPriority[i]
		p.Weights = append(p.Weights, planner.Weight{Weight: int(term.Weight), Selector: &term.MatchSelector})
	}
	for _, term := range strategy.OrderPriority {
		p.Keys = append(p.Keys, term.OrderedKey)
	}
	return p
}

func badPriority(strategy *UpdatePriorityStrategy, at []string) []Mistake {
	if strategy == nil {
		return nil
	}
	var mistakes []Mistake
	if len(strategy.WeightPriority) > 0 && len(strategy.OrderPriority) > 0 {
		mistakes = append(mistakes, Mistake{Path: at, Text: "has weightPriority and orderPriority; only one of them can order the pods"})
	}
	for i := range strategy.WeightPriority {
		term := &strategy.WeightPriority[i]
		if term.Weight < 0 || term.Weight > 100 {
			mistakes = append(mistakes, Mistake{Path: under(at, "weightPriority"), Text: fmt.Sprintf("has a weight of %d; want one from 0 to 100", term.Weight)})
		}
		if _, err := metav1.LabelSelectorAsSelector(&term.MatchSelector); err != nil {
			mistakes = append(mistakes, Mistake{Path: under(at, "weightPriority"), Text: fmt.Sprintf("has a matchSelector that cannot be used: %v", err)})
		} else if len(term.MatchSelector.MatchLabels)+len(term.MatchSelector.MatchExpressions) == 0 {
			mistakes = append(mistakes, Mistake{Path: under(at, "weightPriority"), Text: "has an empty matchSelector; say which pods have the weight"})
		}
	}
	for _, term := range strategy.OrderPriority {
		if term.OrderedKey == "" {
			mistakes = append(mistakes, Mistake{Path: under(at, "orderPriority"), Text: "has a term without orderedKey; want the name of a label"})
		}
	}
	return mistakes
}

// scatter is a checked scatter strategy in the planner's words.
func scatter(terms []UpdateScatterTerm) []planner.Scatter {
	var all []planner.Scatter
	for _, term := range terms {
		all = append(all, planner.Scatter{Key: term.Key, Value: term.Value})
	}
	return all
}

func badScatter(terms []UpdateScatterTerm, at []string) []Mistake {
	var mistakes []Mistake
	for i, term := range terms {
		if term.Key == "" {
			mistakes = append(mistakes, Mistake{Path: at, Text: "has a term without a key; want the name of a label"})
		}
		if slices.Contains(terms[:i], term) {
			mistakes = append(mistakes, Mistake{Path: at, Text: "has " + strconv.Quote(term.Key+"="+term.Value) + " twice; once is enough"})
		}
	}
	return mistakes
}

func grace(strategy *InPlaceUpdateStrategy) time.Duration {
	if strategy == nil {
		return 0
	}
	return time.Duration(strategy.GracePeriodSeconds) * time.Second
}
