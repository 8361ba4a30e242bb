package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// What situ promises.
const (
	rolloutTarget = 1.5       // times the raw limit
	gateTarget    = 3         // times the raw limit, which is one write per pod
	memoryTarget  = 200 << 20 // bytes
)

// Report is a table of figures.
type Report struct{ rows []row }

// row is one figure. Without a target it only informs.
type row struct {
	figure, value, target string
	met                   bool
}

// Missed are the figures that missed their targets.
func (r Report) Missed() []string {
	var missed []string
	for _, row := range r.rows {
		if row.target != "" && !row.met {
			missed = append(missed, row.figure)
		}
	}
	return missed
}

// Print writes the table, and what was missed.
func (r Report) Print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "FIGURE\tMEASURED\tTARGET\t\n")
	for _, row := range r.rows {
		verdict := ""
		switch {
		case row.target == "":
		case row.met:
			verdict = "met"
		default:
			verdict = "MISSED"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", row.figure, row.value, row.target, verdict)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	missed := r.Missed()
	if len(missed) == 0 {
		_, err := fmt.Fprintln(out, "\nEvery target was met.")
		return err
	}
	fmt.Fprintf(out, "\n%d of the targets were missed:\n", len(missed))
	for _, figure := range missed {
		fmt.Fprintf(out, "  %s\n", strings.TrimSpace(figure))
	}
	return nil
}

func (r *Report) info(figure, format string, args ...any) {
	r.rows = append(r.rows, row{figure: figure, value: fmt.Sprintf(format, args...)})
}

func (r *Report) target(met bool, figure, value, target string) {
	r.rows = append(r.rows, row{figure: figure, value: value, target: target, met: met})
}

// rollout adds the medians of both sides, their ratio and what situ wrote.
func (r *Report) rollout(name string, m rollouts, target float64) {
	f := m.fleet
	raw := median(m.raw, func(r rawResult) time.Duration { return r.running })
	written := median(m.raw, func(r rawResult) time.Duration { return r.written })
	situ := median(m.situ, func(s situResult) time.Duration { return s.running })
	last := m.situ[len(m.situ)-1].count
	r.info(fmt.Sprintf("%s: %d pods, %d workloads", name, f.pods, f.workloads), "median of %d raw, %d situ", len(m.raw), len(m.situ))
	r.info("  raw: every pod patched by 16 writers", "%s, %.0f writes/s", short(written), float64(f.pods)/written.Seconds())
	r.info("  raw: all pods run the new image", "%s", short(raw))
	r.info("  situ: commit seen to all pods running", "%s", short(situ))
	r.info("  situ: commit seen to settled", "%s", short(median(m.situ, func(s situResult) time.Duration { return s.settled })))
	ratio := situ.Seconds() / raw.Seconds()
	r.target(ratio <= target, "  "+name+": situ to raw", fmt.Sprintf("%.2f", ratio), fmt.Sprintf("at most %.1f", target))
	r.writes(f, last)
}

// writes adds what a rollout wrote: what every pod costs, and what comes on top
// for a workload. The API server's own counts have to agree.
func (r *Report) writes(f fleet, c count) {
	perPod := c.patches / f.pods
	rest := c.writes() - perPod*f.pods
	if !f.gate {
		r.target(perPod == 1 && c.patches == f.pods, "  API writes per pod, as the API server counted", fmt.Sprintf("%.2f", float64(c.patches)/float64(f.pods)), "1")
	} else {
		perPod = c.writes() / f.pods
		rest = c.writes() - perPod*f.pods
		r.info("  API writes per pod, gate included", "%d", perPod)
	}
	pulls := c.client["create"] + c.client["delete"] // pods that bring the image to the nodes
	r.info("  API writes beside, per workload", "%.1f, of which %.1f bring the image to the nodes",
		float64(rest)/float64(f.workloads), float64(pulls)/float64(f.workloads))
	r.info("  other API requests of the rollout", "%d reads, %d dry runs, %d watches", c.client["get"], c.client["dry-run"], c.client["watch"])
	r.target(c.server == c.requests(), "  requests as situ and as the API server counted", fmt.Sprintf("%d and %d", c.requests(), c.server), "equal")
}

func (r *Report) settled(c count) {
	r.info(fmt.Sprintf("settled source, %d polls", c.polls), "")
	r.target(c.requests() == 0, "  API requests, as situ counted", fmt.Sprint(c.requests()), "0")
	r.target(c.server == 0, "  API requests of situ, as the API server counted", fmt.Sprint(c.server), "0")
	r.target(c.pushes == 0, "  Git writes, as the Git server counted", fmt.Sprint(c.pushes), "0")
}

func (r *Report) memory(pods int, creating, starting int64) {
	r.info(fmt.Sprintf("situ serve with %d pods cached", pods), "")
	r.target(starting < memoryTarget, "  peak memory, started with all pods there", fmt.Sprintf("%d MB", starting>>20), "under 200 MB")
	r.target(creating < memoryTarget, "  peak memory, while the pods were created", fmt.Sprintf("%d MB", creating>>20), "under 200 MB")
}

// real adds what updates in place and native recreation cost the same pods, and
// a client of theirs.
func (r *Report) real(s service, kept, replaced []realResult) {
	running := func(r realResult) time.Duration { return r.running }
	unanswered := func(r realResult) time.Duration { return r.account.Longest }
	r.info("real node: "+s.title, "median of %d in place, %d recreated", len(kept), len(replaced))
	inPlace, recreated := median(kept, running), median(replaced, running)
	r.info("  commit seen to all pods running, in place", "%s", short(inPlace))
	r.info("  the same pods recreated by their controller", "%s", short(recreated))
	r.info("  in place to recreated", "%.2f", inPlace.Seconds()/recreated.Seconds())
	r.info("  a client's longest time without an answer", "%s in place, %s recreated", short(median(kept, unanswered)), short(median(replaced, unanswered)))
	failed, visits := failures(kept)
	text := fmt.Sprintf("%d of %d in place", failed, visits)
	if s.gate {
		r.target(failed == 0, "  a client's failed requests", text, "0")
	} else {
		r.info("  a client's failed requests", "%s", text)
	}
	failed, visits = failures(replaced)
	r.info("  a client's failed requests, recreated", "%d of %d", failed, visits)
}

func failures(results []realResult) (failed, visits int) {
	for _, result := range results {
		failed += result.account.Failed
		visits += result.account.Visits
	}
	return failed, visits
}

func median[T any](all []T, of func(T) time.Duration) time.Duration {
	var durations []time.Duration
	for _, one := range all {
		durations = append(durations, of(one))
	}
	slices.SortFunc(durations, cmp.Compare)
	middle := len(durations) / 2
	if len(durations)%2 == 0 {
		return (durations[middle-1] + durations[middle]) / 2
	}
	return durations[middle]
}

func short(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
