package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"situ.gitops/sync/poller"
)

const serveLong = `serve follows a branch: it asks the repository on schedule, brings the cluster to
every new commit, and repairs what drifts away in between. A newer commit takes
over at any moment. A repository that cannot be reached changes nothing: the
last good commit is kept.

A small web page shows the last plan and its outcome. For probes:
  /livez    the loop turns; for liveness probes
  /readyz   a commit was read and looked at once; for readiness probes
  /healthz  the repository was reached within three periods; for alarms, since a
            restart would not help and would lose the last good commit
  /metrics  for Prometheus

`

const serveExample = `  situ serve --repo https://git.example/shop.git --branch main --cluster prod
  situ serve --repo . --schedule '@every 10s' --listen 127.0.0.1:8080`

// newServeCommand follows a branch.
func newServeCommand() *cobra.Command {
	var options syncOptions
	var schedule, listen string
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Follow a branch on schedule",
		Long:    serveLong + exitCodesHelp,
		Example: serveExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parsed, err := poller.ParseSchedule(schedule)
			if err != nil {
				return fmt.Errorf("--%w", err)
			}
			s, err := options.open(cmd)
			if err != nil {
				return err
			}
			defer s.close()
			spareMemory()
			s.loop.Schedule = parsed
			closePage, err := s.servePage(cmd.Context(), listen)
			if err != nil {
				return err
			}
			defer closePage()
			s.loop.Run(cmd.Context())
			s.live.close()
			s.log.Info("stopped")
			return nil
		},
	}
	options.register(cmd)
	cmd.Flags().StringVar(&schedule, "schedule", poller.EveryMinute, "when to ask the repository: five cron fields, or @every 30s and the like")
	cmd.Flags().StringVar(&listen, "listen", ":8080", "address of the status page and the probes; off: none")
	return cmd
}

// spareMemory has garbage collected at half the usual growth, unless GOGC says
// otherwise. Nearly all that serve keeps are caches: with the pods of a large
// cluster in them this saves a quarter of the memory, and hardly any time is lost.
func spareMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// servePage starts the listener. The function that it returns ends it.
func (s *syncing) servePage(ctx context.Context, address string) (func(), error) {
	if address == "off" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w; give another address, or off", address, err)
	}
	server := &http.Server{Handler: newPage(s.loop, s.loop.Cluster, s.kube.Requests), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.WithError(err).Error("status page ended")
		}
	}()
	s.log.WithField("address", "http://"+listener.Addr().String()).Info("status page")
	return func() {
		if err := server.Close(); err != nil {
			s.log.WithError(err).Warn("status page not closed")
		}
		<-ended
	}, nil
}
