package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"situ.gitops/planner"
)

const syncLong = `sync takes the newest commit of the repository and brings the cluster to it:
round after round until everything is settled, held on purpose or failed. The
outcome is printed and written onto the commit as a Git note.

While it runs, standard error shows one live line on a terminal and one plain
line per change elsewhere. An interrupt lets the actions under way finish and
then stops; the next sync goes on from there.

`

const syncExample = `  situ sync --repo https://git.example/shop.git --branch main --path deploy
  situ sync --repo git@git.example:shop.git --ssh-key-file key --known-hosts-file known_hosts
  situ sync --repo . --context staging -o json`

// newSyncCommand brings the cluster to one commit.
func newSyncCommand() *cobra.Command {
	var options syncOptions
	var output outputOptions
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:     "sync",
		Short:   "Bring the cluster to the newest commit, until it is settled or failed",
		Long:    syncLong + exitCodesHelp,
		Example: syncExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			printer, err := output.printer(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("not settled within %s", timeout))
			defer cancel()
			s, err := options.open(cmd)
			if err != nil {
				return err
			}
			defer s.close()
			s.applier.Leaves = true
			note, err := s.loop.Once(ctx)
			s.live.close()
			switch {
			case cmd.Context().Err() != nil:
				return exitError{exitFailed, fmt.Errorf("interrupted: %w; the next sync goes on from here", context.Cause(cmd.Context()))}
			case err != nil:
				return away(err)
			}
			if err := printer.Note(note); err != nil {
				return err
			}
			return ending(syncCode(note.State))
		},
	}
	options.register(cmd)
	output.register(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", time.Hour, "longest time until the commit has to be settled")
	return cmd
}

// syncCode is the exit code for a commit that ended in state.
func syncCode(state planner.State) int {
	if state == planner.Settled || state == planner.Held {
		return exitOK
	}
	return exitFailed
}
