package planner

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// disruptions counts what PodDisruptionBudgets still allow while pods are
// scheduled. A restart in place makes a pod unavailable as an eviction does, so
// it asks for the same permission, though the server does not enforce it.
type disruptions struct {
	budgets []disruptionBudget
}

type disruptionBudget struct {
	namespace string
	name      string
	selector  labels.Selector
	allowed   int
}

func (b *disruptionBudget) covers(pod *corev1.Pod) bool {
	return b.namespace == pod.Namespace && b.selector.Matches(labels.Set(pod.Labels))
}

// newDisruptions takes the lower of what a budget's status allows and what the
// pods of this workload show now: the status lags behind.
func newDisruptions(budgets []*policyv1.PodDisruptionBudget, cases []podCase) *disruptions {
	d := &disruptions{}
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // the server has validated it
		}
		matching, available := 0, 0
		for i := range cases {
			if cases[i].pod.Namespace == b.Namespace && selector.Matches(labels.Set(cases[i].pod.Labels)) {
				matching++
				if cases[i].progress.available {
					available++
				}
			}
		}
		allowed := int(b.Status.DisruptionsAllowed)
		if matching == int(b.Status.ExpectedPods) {
			allowed = min(allowed, max(0, available-int(b.Status.DesiredHealthy)))
		}
		if matching > 0 {
			d.budgets = append(d.budgets, disruptionBudget{namespace: b.Namespace, name: b.Name, selector: selector, allowed: allowed})
		}
	}
	return d
}

// take asks for one pod. It names the budget that refuses, "" if all agree.
func (d *disruptions) take(pod *corev1.Pod) string {
	for i := range d.budgets {
		if b := &d.budgets[i]; b.allowed <= 0 && b.covers(pod) {
			return "poddisruptionbudget/" + b.name + " allows no disruption now"
		}
	}
	for i := range d.budgets {
		if d.budgets[i].covers(pod) {
			d.budgets[i].allowed--
		}
	}
	return ""
}
