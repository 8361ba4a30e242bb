package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"situ.gitops/cmd/situ/report"
)

// The exit codes. Scripts rely on them; help texts and the README quote them.
const (
	exitOK       = 0 // plan: nothing to do; sync: settled, or held on purpose
	exitChanges  = 1 // plan: there are changes
	exitFailed   = 1 // sync: some of it failed, or it was interrupted
	exitUsage    = 2 // a flag, a file or a setting is wrong; nothing was tried
	exitAway     = 3 // the repository or the cluster cannot be reached; nothing was tried
	exitTroubled = 4 // plan: some of it cannot be done, as its problems and refusals say
)

const exitCodesHelp = `Exit codes:
  0  plan: nothing to do; sync: settled, or held on purpose
  1  plan: there are changes; sync: some of it failed, or it was interrupted
  2  a flag, a file or a setting is wrong; nothing was tried
  3  the repository or the cluster cannot be reached; nothing was tried
  4  plan: some of it cannot be done, as its problems and refusals say
`

// exitError ends the program with a code. Without a cause nothing is printed:
// the result that was shown says it all.
type exitError struct {
	code  int
	cause error
}

func (e exitError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.cause.Error()
}

func (e exitError) Unwrap() error { return e.cause }

// away marks an error of a repository or a cluster.
func away(err error) error {
	if err == nil {
		return nil
	}
	return exitError{exitAway, err}
}

// ending turns a code into what commands return.
func ending(code int) error {
	if code == exitOK {
		return nil
	}
	return exitError{code: code}
}

// exitCode prints the error, once, and gives its code.
func exitCode(errOut io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	exit := exitError{exitUsage, err}
	errors.As(err, &exit)
	if exit.cause != nil {
		lines := strings.Split(err.Error(), "\n")
		for i, line := range lines {
			lines[i] = report.Printable(line)
		}
		fmt.Fprintf(errOut, "situ: %s\n", strings.Join(lines, "\n"))
	}
	return exit.code
}
