package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"situ.gitops/applier/cluster"
	"situ.gitops/cmd/situ/report"
	"situ.gitops/planner"
	"situ.gitops/sync/poller"
)

// writeMetrics writes what is worth an alarm in Prometheus' text format. The
// format is a few lines of code; its client library would be a dependency more to
// keep.
func writeMetrics(w io.Writer, status poller.Status, requests cluster.Counts) {
	metric := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	metric("situ_api_requests_total", "counter", "Requests to the API server, without watches.")
	for _, verb := range slices.Sorted(maps.Keys(requests.Verbs)) {
		fmt.Fprintf(w, "situ_api_requests_total{verb=%q} %d\n", verb, requests.Verbs[verb])
	}
	metric("situ_api_watches_total", "counter", "Watches opened at the API server.")
	fmt.Fprintf(w, "situ_api_watches_total %d\n", requests.Watches)
	metric("situ_last_poll_timestamp_seconds", "gauge", "When the repository answered last; 0 before the first time.")
	polled := int64(0)
	if !status.LastPoll.IsZero() {
		polled = status.LastPoll.Unix()
	}
	fmt.Fprintf(w, "situ_last_poll_timestamp_seconds %d\n", polled)
	metric("situ_drifted_pods", "gauge", "Pods that differ from their template by somebody else's hand.")
	drifted := 0
	if status.Plan != nil {
		drifted = report.Summarize(*status.Plan).Drifted
	}
	fmt.Fprintf(w, "situ_drifted_pods %d\n", drifted)
	metric("situ_state", "gauge", "1 for the state that the commit is in.")
	for _, state := range []planner.State{planner.Settled, planner.Held, planner.Waiting, planner.Progressing, planner.Failed} {
		value := 0
		if status.Plan != nil && status.Plan.State == state {
			value = 1
		}
		fmt.Fprintf(w, "situ_state{state=%q} %d\n", state, value)
	}
}
