package report

import (
	"fmt"
	"slices"
	"strings"

	"situ.gitops/planner"
)

// planMarkdown shows a plan as a comment on a pull request: the summary first,
// one table row per workload, everything about pods folded away.
func (p Printer) planMarkdown(cluster string, plan planner.Plan) error {
	page := p.page()
	page.line("### situ: %s", escape(title(cluster, plan)))
	page.line("")
	page.line("**%s**", escape(Summarize(plan).String()))
	page.workloadTable(plan.Workloads)
	page.objectTable(plan.Objects)
	if len(plan.Problems) > 0 {
		page.line("")
		page.line("#### Problems")
		page.line("")
		for _, problem := range plan.Problems {
			page.line("- %s", escape(problem.String()))
		}
	}
	for _, w := range plan.Workloads {
		page.podDetails(w)
	}
	return p.write(page)
}

func (p *page) workloadTable(workloads []planner.WorkloadPlan) {
	if len(workloads) == 0 {
		return
	}
	p.line("")
	p.line("| workload | verdict | pods | because |")
	p.line("|---|---|---|---|")
	for _, w := range workloads {
		var why []string
		for _, reason := range w.Reasons {
			why = append(why, escape(sentence(reason)))
		}
		if text := stateText(w); text != "" {
			why = append(why, escape(string(w.State)+": "+text))
		}
		if len(w.Fields) > 0 {
			why = append(why, escape("updates: "+fewFields(w.Fields)))
		}
		if text := driftText(w); text != "" {
			why = append(why, escape("drift: "+text))
		}
		for _, warning := range w.Warnings {
			why = append(why, escape("warning: "+warning))
		}
		p.line("| %s<br>%s | **%s** | %d | %s |", code(w.Ref.String()), escape(w.Origin.String()), escape(headline(w)), len(w.Pods), strings.Join(why, "<br>"))
	}
}

func (p *page) objectTable(objects []planner.ObjectPlan) {
	var rows []string
	for _, o := range objects {
		if o.Verb != planner.None || o.State == planner.Failed {
			rows = append(rows, fmt.Sprintf("| %s<br>%s | **%s** | %s |", code(o.Ref.String()), escape(o.Origin.String()), o.Verb, escape(objectDetail(o))))
		}
	}
	if len(rows) == 0 {
		return
	}
	p.line("")
	p.line("| object | verb | what |")
	p.line("|---|---|---|")
	for _, row := range rows {
		p.line("%s", row)
	}
}

func (p *page) podDetails(w planner.WorkloadPlan) {
	if w.Verdict == planner.Keep {
		w = onlyDrifted(w)
	}
	if len(w.Pods) == 0 {
		return
	}
	p.line("")
	p.line("<details><summary>%s: %s</summary>", escape(w.Ref.String()), count(len(w.Pods), "pod"))
	p.line("")
	p.line("host: %s; budget: %s", escape(orNone(w.Host)), escape(orNone(w.Budget.Text)))
	p.line("")
	p.line("| pod | verb | turn | note |")
	p.line("|---|---|---|---|")
	for _, group := range groupPods(w) {
		named := group
		if len(group) > podLines {
			named = group[:podLines/2]
		}
		for _, pod := range named {
			p.line("| %s | %s | %s | %s |", code(pod.Name), pod.Verb, turn(pod), escape(podNote(pod, w.Reasons)))
		}
		if rest := len(group) - len(named); rest > 0 {
			p.line("| and %d more | %s | %s | |", rest, group[0].Verb, turn(group[0]))
		}
	}
	p.line("")
	p.line("</details>")
}

// podNote is what a pod waits for, and its reasons if they are not the workload's.
func podNote(pod planner.PodPlan, workload []planner.Reason) string {
	var parts []string
	if pod.Text != "" {
		parts = append(parts, pod.Text)
	}
	if !slices.Equal(pod.Reasons, workload) {
		for _, reason := range pod.Reasons {
			parts = append(parts, sentence(reason))
		}
	}
	for _, d := range pod.Drift {
		parts = append(parts, Drift(d))
	}
	return strings.Join(parts, "; ")
}
