package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "SITU_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// bindEnvironment gives flags that were not set the value of their variable.
func bindEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(flag *pflag.Flag) {
		value := os.Getenv(variable(flag.Name))
		if flag.Changed || value == "" || flag.Name == "help" || failed != nil {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			failed = fmt.Errorf("environment variable %s: %w", variable(flag.Name), err)
		}
	})
	return failed
}

// nameVariables tells the variables in the help texts of all commands.
func nameVariables(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "help" {
			flag.Usage += " [" + variable(flag.Name) + "]"
		}
	})
	for _, child := range cmd.Commands() {
		nameVariables(child)
	}
}
