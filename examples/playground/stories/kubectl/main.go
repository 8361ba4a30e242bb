// Command kubectl is the real one, at the version of the playground's
// Kubernetes, so that stories need none on the machine.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() { os.Exit(cli.Run(cmd.NewDefaultKubectlCommand())) }
