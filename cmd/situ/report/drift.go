package report

import (
	"fmt"
	"slices"
	"strings"

	"situ.gitops/planner"
)

// drifted counts the pods that others have written on.
func drifted(pods []planner.PodPlan) int {
	n := 0
	for i := range pods {
		if len(pods[i].Drift) > 0 {
			n++
		}
	}
	return n
}

// driftText says how many pods of a workload have drifted, and in what; "" if none has.
func driftText(w planner.WorkloadPlan) string {
	n := drifted(w.Pods)
	if n == 0 {
		return ""
	}
	var what []string
	for _, pod := range w.Pods {
		for _, d := range pod.Drift {
			if !slices.Contains(what, d.Text) {
				what = append(what, d.Text)
			}
		}
	}
	if rest := len(what) - 5; rest > 0 {
		what = append(what[:5], fmt.Sprintf("%d more", rest))
	}
	return differ(n) + ": " + strings.Join(what, ", ")
}

// differ is "1 pod differs from its template".
func differ(n int) string {
	if n == 1 {
		return "1 pod differs from its template"
	}
	return fmt.Sprintf("%d pods differ from their template", n)
}

// Drift is one field of one pod in words.
func Drift(d planner.Drift) string {
	if d.Template == "" && d.Live == "" {
		return d.Field + " is another than in its template"
	}
	if d.Live == "" {
		return fmt.Sprintf("%s is gone, in its template %s", d.Field, d.Template)
	}
	return fmt.Sprintf("%s is %s, in its template %s", d.Field, d.Live, orNone(d.Template))
}

// onlyDrifted is a workload with its drifted pods alone.
func onlyDrifted(w planner.WorkloadPlan) planner.WorkloadPlan {
	w.Pods = slices.DeleteFunc(slices.Clone(w.Pods), func(pod planner.PodPlan) bool { return len(pod.Drift) == 0 })
	return w
}

func (p *page) drift(w planner.WorkloadPlan) {
	if text := driftText(w); text != "" {
		p.line("  %s %s", p.cell(yellow, "drift", 8), text)
	}
}
