package main

import (
	"github.com/spf13/cobra"

	"situ.gitops/planner"
	"situ.gitops/planner/kruise"
)

// newRulesCommand shows the table behind every verdict.
func newRulesCommand() *cobra.Command {
	var output outputOptions
	var kinds bool
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Show which change costs what",
		Long: `rules shows the table that turns a changed field into a verdict. The first row
that fits decides a change; the costliest change decides the pod.

With --kinds it shows what becomes of each field of a CloneSet, StatefulSet,
DaemonSet or SidecarSet of OpenKruise on a cluster that does not serve them.`,
		Example: "  situ rules\n  situ rules -o markdown\n  situ rules --kinds",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			printer, err := output.printer(cmd)
			if err != nil {
				return err
			}
			if kinds {
				return printer.Fields(kruise.Fields())
			}
			return printer.Rules(planner.Rules())
		},
	}
	cmd.Flags().BoolVar(&kinds, "kinds", false, "show what becomes of each field of the OpenKruise kinds instead")
	output.register(cmd)
	return cmd
}
