package main

import (
	"github.com/spf13/cobra"

	"situ.gitops/planner"
)

// newRulesCommand shows the table behind every verdict.
func newRulesCommand() *cobra.Command {
	var output outputOptions
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Show which change costs what",
		Long: `rules shows the table that turns a changed field into a verdict. The first row
that fits decides a change; the costliest change decides the pod.`,
		Example: "  situ rules\n  situ rules -o markdown",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			printer, err := output.printer(cmd)
			if err != nil {
				return err
			}
			return printer.Rules(planner.Rules())
		},
	}
	output.register(cmd)
	return cmd
}
