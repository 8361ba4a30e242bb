package main

import (
	"io"

	"github.com/spf13/cobra"
)

const rootLong = `situ brings a Kubernetes cluster to what a Git repository wants, and updates
running pods in place wherever that is possible. For every commit it plans, per
pod, whether the change can be patched into the running pod or needs a new one,
says why, does it, and writes what happened back onto the commit as a Git note.

Every flag can also be given as an environment variable: --repo as SITU_REPO,
--git-token-file as SITU_GIT_TOKEN_FILE. Flags win. Secrets are read from files
or from SITU_GIT_TOKEN, SITU_GIT_PASSWORD and SITU_SSH_KEY_PASSPHRASE, never
from flags.

To see the notes in an ordinary clone:
  git config --add remote.origin.fetch '+refs/notes/situ/*:refs/notes/situ/*'
  git config --add notes.displayRef 'refs/notes/situ/*'

`

// newRoot is the whole command line.
func newRoot(args []string, out, errOut io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "situ",
		Short:         "GitOps that updates running pods in place",
		Long:          rootLong + exitCodesHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseSecrets(cmd.Flags()); err != nil {
				return err
			}
			return bindEnvironment(cmd.Flags())
		},
	}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(explainFlagError)
	root.AddCommand(newPlanCommand(), newSyncCommand(), newServeCommand(), newHistoryCommand(), newWhyCommand(), newRulesCommand(), newVersionCommand())
	nameVariables(root)
	return root
}
