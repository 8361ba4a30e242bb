package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// explainFlagError names the flag that was probably meant, and where to read on.
func explainFlagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	if name, found := strings.CutPrefix(text, "unknown flag: --"); found {
		if near := nearest(name, cmd.Flags()); near != "" {
			return fmt.Errorf("there is no flag --%s; did you mean --%s? See %q", name, near, cmd.CommandPath()+" --help")
		}
		return fmt.Errorf("there is no flag --%s; see %q", name, cmd.CommandPath()+" --help")
	}
	return fmt.Errorf("%s; see %q", text, cmd.CommandPath()+" --help")
}

// nearest is the flag with the fewest letters to change, "" if none is close.
func nearest(name string, flags *pflag.FlagSet) string {
	best, fewest := "", len(name)/3+2
	flags.VisitAll(func(flag *pflag.Flag) {
		if d := distance(name, flag.Name); d < fewest {
			best, fewest = flag.Name, d
		}
	})
	return best
}

// distance is how many letters to insert, delete or replace between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
