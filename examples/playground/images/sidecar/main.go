// Command sidecar is the second container of the playground's pods: it prints
// the version its image carries and waits to be told to stop. With the argument
// "once" it ends right away, which makes it an init container.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)

	version, err := os.ReadFile("/version")
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	os.Stdout.WriteString("sidecar " + string(version))
	if len(args) == 1 && args[0] == "once" {
		return 0
	}
	<-stop
	return 0
}
