package report

import (
	"fmt"
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
		p.line("| `%s`<br>%s | **%s** | %d | %s |", w.Ref, escape(w.Origin.String()), escape(headline(w)), len(w.Pods), strings.Join(why, "<br>"))
	}
}

func (p *page) objectTable(objects []planner.ObjectPlan) {
	var rows []string
	for _, o := range objects {
		if o.Verb != planner.None || o.State == planner.Failed {
			rows = append(rows, fmt.Sprintf("| `%s`<br>%s | **%s** | %s |", o.Ref, escape(o.Origin.String()), o.Verb, escape(objectDetail(o))))
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
	if len(w.Pods) == 0 || w.Verdict == planner.Keep {
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
			p.line("| `%s` | %s | %s | %s |", pod.Name, pod.Verb, turn(pod), escape(pod.Text))
		}
		if rest := len(group) - len(named); rest > 0 {
			p.line("| and %d more | %s | %s | |", rest, group[0].Verb, turn(group[0]))
		}
	}
	p.line("")
	p.line("</details>")
}

// escape keeps a text from outside from being read as Markdown or HTML.
func escape(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", ">", "&gt;", "*", "\\*", "`", "'", "_", "\\_", "[", "\\[", "\n", " ").Replace(text)
}
