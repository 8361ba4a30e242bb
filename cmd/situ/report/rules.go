package report

import "situ.gitops/planner"

// Rules shows the rule table. The first row that fits decides a change; the
// costliest change decides the pod.
func (p Printer) Rules(rules []planner.Rule) error {
	switch p.Format {
	case JSON:
		return p.json(rules)
	case Markdown:
		return p.rulesMarkdown(rules)
	}
	page := p.page()
	idWidth, fieldWidth := len("rule"), len("field")
	for _, rule := range rules {
		idWidth = max(idWidth, len(rule.ID))
		fieldWidth = max(fieldWidth, len(rule.Field))
	}
	page.line("%s  %s  %s  %s  %s", page.cell(bold, "rule", idWidth), page.cell(bold, "field", fieldWidth), page.cell(bold, "verdict", 8),
		page.cell(bold, "since", 5), page.paint(bold, "why"))
	for _, rule := range rules {
		page.line("%-*s  %-*s  %s  %-5s  %s", idWidth, rule.ID, fieldWidth, rule.Field, page.cell(colorOf(rule.Verdict), rule.Verdict.String(), 8), rule.Since, ruleText(rule))
	}
	return p.write(page)
}

func ruleText(rule planner.Rule) string {
	if rule.When == "" {
		return rule.Reason
	}
	return "if " + rule.When + ": " + rule.Reason
}

func (p Printer) rulesMarkdown(rules []planner.Rule) error {
	page := p.page()
	page.line("| rule | field | if | verdict | why | since |")
	page.line("|---|---|---|---|---|---|")
	for _, rule := range rules {
		page.line("| %s | `%s` | %s | **%s** | %s | %s |", rule.ID, rule.Field, escape(rule.When), rule.Verdict, escape(rule.Reason), rule.Since)
	}
	return p.write(page)
}
