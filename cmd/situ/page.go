package main

import (
	"bytes"
	"encoding/json"
	"html/template"
	"net/http"
	"strings"
	"time"

	"situ.gitops/applier"
	"situ.gitops/applier/cluster"
	"situ.gitops/cmd/situ/report"
	"situ.gitops/sync/poller"
)

// watched is what the page shows; *poller.Loop is one.
type watched interface {
	Status() poller.Status
	Live() error
	Health() error
	Ready() error
}

// newPage serves the status, read-only: / for people, /status.json for
// programs, /metrics for Prometheus, /livez, /healthz and /readyz for probes.
func newPage(loop watched, name string, requests func() cluster.Counts) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		writeMetrics(w, loop.Status(), requests())
	})
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { probe(w, loop.Live()) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { probe(w, loop.Health()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { probe(w, loop.Ready()) })
	mux.HandleFunc("GET /status.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(newStatus(loop.Status(), name)) // the reader is gone; nothing to be done
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		var page bytes.Buffer
		if err := statusPage.Execute(&page, newStatus(loop.Status(), name)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = w.Write(page.Bytes())
	})
	return mux
}

func probe(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// status is the JSON of the status page.
type status struct {
	V        int           `json:"v"`
	Cluster  string        `json:"cluster"`
	Commit   string        `json:"commit"`
	Subject  string        `json:"subject,omitempty"`
	LastPoll *time.Time    `json:"lastPoll"`
	Problem  string        `json:"problem,omitempty"`
	Plan     *report.Plan  `json:"plan"`
	Note     *applier.Note `json:"note"`

	PlanText, NoteText string `json:"-"`
}

func newStatus(now poller.Status, cluster string) status {
	view := status{V: 1, Cluster: cluster, Commit: now.Commit, Subject: now.Subject, Note: now.Note,
		Problem: strings.Join(nonEmpty(now.PollError, now.Error), "; ")}
	if !now.LastPoll.IsZero() {
		polled := now.LastPoll.UTC()
		view.LastPoll = &polled
	}
	if now.Plan != nil {
		plan := report.NewPlan(cluster, *now.Plan)
		view.Plan = &plan
		view.PlanText = shown(func(p report.Printer) error { return p.Plan(cluster, *now.Plan) })
	}
	if now.Note != nil {
		view.NoteText = shown(func(p report.Printer) error { return p.Note(*now.Note) })
	}
	return view
}

func nonEmpty(texts ...string) []string {
	var kept []string
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

// shown is a result as the commands print it.
func shown(print func(report.Printer) error) string {
	var text strings.Builder
	if err := print(report.Printer{Out: &text, Format: report.Text}); err != nil {
		return err.Error()
	}
	return text.String()
}

var statusPage = template.Must(template.New("status").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>situ on {{.Cluster}}</title>
<meta http-equiv="refresh" content="5">
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
pre{background:#8881;padding:1rem;overflow:auto}.problem{color:#b00}</style></head><body>
<h1>situ on {{.Cluster}}</h1>
{{if .Commit}}<p>commit <code>{{.Commit}}</code> {{.Subject}}</p>{{else}}<p>no commit has been read yet</p>{{end}}
{{with .LastPoll}}<p>repository last asked {{.Format "2006-01-02 15:04:05 UTC"}}</p>{{end}}
{{with .Problem}}<p class="problem">{{.}}</p>{{end}}
{{with .NoteText}}<h2>Outcome</h2><pre>{{.}}</pre>{{end}}
{{with .PlanText}}<h2>Plan of the last round</h2><pre>{{.}}</pre>{{end}}
<p><a href="/status.json">as JSON</a></p>
</body></html>
`))
