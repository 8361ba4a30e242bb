package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"situ.gitops/applier"
)

const historyLong = `history shows the notes that this cluster has left on commits, the newest first.
It asks the repository only, not the cluster.

`

// newHistoryCommand shows what became of earlier commits.
func newHistoryCommand() *cobra.Command {
	var source sourceOptions
	var cluster clusterOptions
	var output outputOptions
	var limit int
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "Show what became of earlier commits",
		Long:    historyLong + exitCodesHelp,
		Example: "  situ history --repo https://git.example/shop.git --cluster prod\n  situ history --repo . --limit 5 -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			printer, err := output.printer(cmd)
			if err != nil {
				return err
			}
			if limit < 1 {
				return fmt.Errorf("--limit is %d; want 1 or more", limit)
			}
			name, err := cluster.named()
			if err != nil {
				return err
			}
			notes, err := readHistory(cmd, source, name, limit)
			if err != nil {
				return err
			}
			return printer.History(notes)
		},
	}
	source.register(cmd)
	cluster.registerName(cmd)
	output.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", 20, "how many commits")
	return cmd
}

// readHistory reads notes. One that this situ cannot read is shown as a
// problem of its commit.
func readHistory(cmd *cobra.Command, source sourceOptions, cluster string, limit int) (notes []applier.Note, err error) {
	repo, err := source.open(cmd, cluster)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	stored, err := repo.History(cmd.Context(), limit)
	if err != nil {
		return nil, away(err)
	}
	for _, entry := range stored {
		note, err := applier.ParseNote(entry.Content)
		if err != nil {
			note = applier.Note{Problems: []string{err.Error()}, Finished: entry.Time, Started: entry.Time}
		}
		// Who wrote it may have written anything; where it was found is certain.
		note.Commit, note.Cluster = entry.Commit, cluster
		notes = append(notes, note)
	}
	return notes, nil
}
