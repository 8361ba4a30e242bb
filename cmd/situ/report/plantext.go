package report

import (
	"fmt"
	"slices"
	"strings"

	"situ.gitops/planner"
)

// podLines is how many pods with the same verb, turn and reasons are named one by one.
const podLines = 10

// Plan shows a plan.
func (p Printer) Plan(cluster string, plan planner.Plan) error {
	switch p.Format {
	case JSON:
		return p.json(NewPlan(cluster, plan))
	case Markdown:
		return p.planMarkdown(cluster, plan)
	}
	page := p.page()
	page.line("%s", page.paint(bold, title(cluster, plan)))
	for _, w := range plan.Workloads {
		page.line("")
		page.workload(w)
	}
	page.objects(plan.Objects)
	page.problems(plan.Problems)
	page.line("")
	page.line("%s", page.paint(bold, Summarize(plan).String()))
	return p.write(page)
}

// title names what the plan is for.
func title(cluster string, plan planner.Plan) string {
	name := "plan"
	if plan.Commit != "" {
		name = "plan for " + short(plan.Commit)
	}
	if cluster != "" {
		name += " on cluster " + cluster
	}
	return name
}

func (p *page) workload(w planner.WorkloadPlan) {
	if quiet(w) {
		p.line("%s  %s  %s", p.paint(bold, w.Ref.String()), p.paint(dim, "keep, "+count(len(w.Pods), "pod")), p.paint(dim, w.Origin.String()))
		p.drift(w)
		for _, group := range groupPods(onlyDrifted(w)) {
			p.pods(group, w.Reasons)
		}
		return
	}
	p.line("%s  %s  %s", p.paint(bold, w.Ref.String()), p.paint(colorOf(w.Verdict), headline(w)), p.paint(dim, w.Origin.String()))
	if w.Host != "" {
		p.line("  host     %s", w.Host)
	}
	if w.Budget.Text != "" {
		p.line("  budget   %s", w.Budget.Text)
	}
	if stateText(w) != "" {
		p.line("  %s %s", p.cell(stateColor(w.State), string(w.State), 8), stateText(w))
	}
	for i, reason := range w.Reasons {
		label := "because"
		if i > 0 {
			label = ""
		}
		p.line("  %-8s %s", label, sentence(reason))
	}
	if len(w.Fields) > 0 {
		p.line("  updates  %s", fewFields(w.Fields))
	}
	p.drift(w)
	for _, group := range groupPods(w) {
		p.pods(group, w.Reasons)
	}
	for _, warning := range w.Warnings {
		p.line("  %s  %s", p.paint(yellow, "warning"), warning)
	}
}

// quiet says whether there is nothing to tell about a workload but its verdict.
func quiet(w planner.WorkloadPlan) bool {
	return !w.Create && w.Verdict == planner.Keep && w.State == planner.Settled && len(w.Warnings) == 0
}

// stateText is why a workload is in its state. That it is on its way since the
// plan has steps for it is no news beside those.
func stateText(w planner.WorkloadPlan) string {
	if w.State == planner.Progressing && len(w.Steps) > 0 {
		return ""
	}
	return w.Text
}

// updates says whether a workload is written to, though none of its pods changes.
func updates(w planner.WorkloadPlan) bool {
	return !w.Create && w.Verdict == planner.Keep && len(w.Steps) > 0
}

// headline is the verdict in words.
func headline(w planner.WorkloadPlan) string {
	removed := 0
	for _, pod := range w.Pods {
		if pod.Verb == planner.Remove {
			removed++
		}
	}
	switch {
	case removed > 0 && w.Verdict == planner.Remove:
		return "remove " + count(removed, "pod")
	case removed > 0:
		return verdictInWords(w) + "; remove " + count(removed, "pod")
	}
	return verdictInWords(w)
}

func verdictInWords(w planner.WorkloadPlan) string {
	switch {
	case w.Create:
		return "create"
	case updates(w):
		return "update"
	case w.Verdict == planner.Restart && len(w.Containers) > 0:
		return "restart " + strings.Join(w.Containers, ", ") + " in place"
	case w.Verdict == planner.Restart:
		return "restart in place"
	case w.Verdict == planner.Resize:
		return "resize in place"
	case w.Verdict == planner.Metadata:
		return "metadata, nothing restarts"
	}
	return w.Verdict.String()
}

// sentence is a reason in words: the field, the values, why.
func sentence(r planner.Reason) string {
	text := r.Text
	if r.Rule != "" {
		text += " [" + r.Rule + "]"
	}
	switch {
	case r.Field == "":
		return text
	case r.From != "" || r.To != "":
		return fmt.Sprintf("%s: %s -> %s; %s", r.Field, orNone(r.From), orNone(r.To), text)
	}
	return r.Field + ": " + text
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// groupPods puts pods side by side that have the same to be said about them.
func groupPods(w planner.WorkloadPlan) [][]planner.PodPlan {
	var groups [][]planner.PodPlan
	for _, pod := range w.Pods {
		last := len(groups) - 1
		if last >= 0 && alike(groups[last][0], pod) {
			groups[last] = append(groups[last], pod)
			continue
		}
		groups = append(groups, []planner.PodPlan{pod})
	}
	return groups
}

func alike(a, b planner.PodPlan) bool {
	return a.Verb == b.Verb && a.Turn == b.Turn && a.State == b.State && a.Text == b.Text && slices.Equal(a.Reasons, b.Reasons)
}

func (p *page) pods(group []planner.PodPlan, workload []planner.Reason) {
	named := group
	if len(group) > podLines {
		named = group[:podLines/2]
	}
	width := 0
	for _, pod := range named {
		width = max(width, len(pod.Name))
	}
	for _, pod := range named {
		line := fmt.Sprintf("  - %-*s  %s  %s", width, pod.Name, p.cell(colorOf(pod.Verb), pod.Verb.String(), 8), turn(pod))
		if pod.Text != "" {
			line += "  " + p.paint(stateColor(pod.State), pod.Text)
		}
		p.line("%s", line)
		if !slices.Equal(pod.Reasons, workload) {
			for _, reason := range pod.Reasons {
				p.line("      %s", p.paint(dim, sentence(reason)))
			}
		}
		for _, d := range pod.Drift {
			p.line("      %s", p.paint(dim, Drift(d)))
		}
	}
	if rest := len(group) - len(named); rest > 0 {
		p.line("    ... and %d more like these", rest)
	}
}

// turn says when a pod's turn is.
func turn(pod planner.PodPlan) string {
	switch {
	case pod.Done && pod.Verb == planner.Keep, pod.Verb == planner.Keep:
		return ""
	case pod.Turn == 0:
		return "not by this commit"
	case pod.Turn == 1:
		return "now"
	}
	return fmt.Sprintf("turn %d", pod.Turn)
}

func (p *page) objects(objects []planner.ObjectPlan) {
	var told []planner.ObjectPlan
	width := 0
	for _, object := range objects {
		if object.Verb != planner.None || object.State == planner.Failed {
			told = append(told, object)
			width = max(width, len(object.Ref.String()))
		}
	}
	if len(told) == 0 {
		return
	}
	p.line("")
	p.line("%s", p.paint(bold, "objects"))
	for _, object := range told {
		line := fmt.Sprintf("  %s  %-*s  %s", p.cell(verbColor(object.Verb), string(object.Verb), 6), width, object.Ref,
			p.paint(dim, object.Origin.String()))
		if detail := objectDetail(object); detail != "" {
			line += "  " + detail
		}
		p.line("%s", line)
	}
}

func objectDetail(object planner.ObjectPlan) string {
	if object.Text != "" {
		return object.Text
	}
	return fewFields(object.Fields)
}

func fewFields(fields []string) string {
	if len(fields) > 5 {
		return fmt.Sprintf("%s and %d more", strings.Join(fields[:5], ", "), len(fields)-5)
	}
	return strings.Join(fields, ", ")
}

func (p *page) problems(problems []planner.Problem) {
	if len(problems) == 0 {
		return
	}
	p.line("")
	p.line("%s", p.paint(red, "problems"))
	for _, problem := range problems {
		p.line("  %s", problem)
	}
}

// String is the summary in one sentence.
func (s Summary) String() string {
	if !s.Changes() && !s.Troubled() && s.Drifted == 0 {
		return fmt.Sprintf("nothing to do: %s, %s and %s are as they should be",
			count(s.Workloads.Total, "workload"), count(s.Pods.Total, "pod"), count(s.Objects.Total, "other object"))
	}
	if !s.Changes() && !s.Troubled() {
		return fmt.Sprintf("nothing to do: %s and %s are as they should be; %s",
			count(s.Workloads.Total, "workload"), count(s.Objects.Total, "other object"), differ(s.Drifted))
	}
	parts := []string{some(count(s.Workloads.Total, "workload"), s.Workloads.Create, "to create", s.Workloads.Update, "to update", s.Workloads.Refuse, "refused")}
	if s.Pods.Total > 0 {
		parts = append(parts, some(count(s.Pods.Total, "pod"), s.Pods.Restart, "to restart in place", s.Pods.Resize, "to resize in place",
			s.Pods.Metadata, "to patch without a restart", s.Pods.Recreate, "to recreate", s.Pods.Remove, "to remove", s.Pods.Refuse, "refused", s.Pods.Keep, "to keep"))
	}
	if s.Objects.Total > 0 {
		parts = append(parts, some(count(s.Objects.Total, "other object"), s.Objects.Create, "to create", s.Objects.Update, "to update",
			s.Objects.Wait, "waiting", s.Objects.Refuse, "refused"))
	}
	if s.Drifted > 0 {
		parts = append(parts, differ(s.Drifted))
	}
	if len(s.Problems) > 0 {
		parts = append(parts, count(len(s.Problems), "problem"))
	}
	return strings.Join(parts, "; ")
}

// some is "4 pods: 3 to restart in place, 1 to keep", with what is not zero.
func some(total string, pairs ...any) string {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if n, _ := pairs[i].(int); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, pairs[i+1]))
		}
	}
	if len(parts) == 0 {
		return total
	}
	return total + ": " + strings.Join(parts, ", ")
}

func colorOf(verdict planner.Verdict) string {
	return [...]string{dim, yellow, green, green, cyan, yellow, red}[verdict]
}

func stateColor(state planner.State) string {
	switch state {
	case planner.Settled:
		return green
	case planner.Failed:
		return red
	case planner.Held, planner.Waiting:
		return yellow
	}
	return cyan
}

func verbColor(verb planner.ObjectVerb) string {
	switch verb {
	case planner.Create, planner.Update:
		return green
	case planner.Wait:
		return yellow
	case planner.RefuseObject:
		return red
	}
	return dim
}
