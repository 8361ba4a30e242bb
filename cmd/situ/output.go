package main

import (
	"fmt"
	"io"
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"situ.gitops/cmd/situ/report"
)

// outputOptions say how results are shown.
type outputOptions struct{ format string }

func (o *outputOptions) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "text", "text, json or markdown")
}

func (o *outputOptions) printer(cmd *cobra.Command) (report.Printer, error) {
	format, err := report.ParseFormat(o.format)
	out := cmd.OutOrStdout()
	return report.Printer{Out: out, Format: format, Color: colorful(out)}, err
}

// logOptions say how much is logged.
type logOptions struct{ level string }

func (o *logOptions) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.level, "log-level", "info", "error, warn, info or debug")
}

// logger logs to w.
func (o *logOptions) logger(w io.Writer) (*logrus.Logger, error) {
	level, err := logrus.ParseLevel(o.level)
	if err != nil {
		return nil, fmt.Errorf("--log-level is %q; want error, warn, info or debug", o.level)
	}
	log := logrus.New()
	log.SetOutput(w)
	log.SetLevel(level)
	log.SetFormatter(&logrus.TextFormatter{FullTimestamp: true, DisableColors: true})
	return log, nil
}

// terminal is the terminal behind w, if it is one.
func terminal(w io.Writer) (fd int, yes bool) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	return int(file.Fd()), true
}

// colorful says whether colours are welcome: on a terminal, unless NO_COLOR is set.
func colorful(w io.Writer) bool {
	_, yes := terminal(w)
	return yes && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
