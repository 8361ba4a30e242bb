// Package stories tells what situ promises as stories, and tests that they are
// true: the real situ and the real kubectl as a person would call them, a real
// control plane, and a real Git server. Each file in testdata is one story.
//
// It owns the stories and the few verbs that they need beside those two
// programs. It leaves the cluster, its nodes and the Git server to the packages
// of the playground.
//
//	testdata/both        told on simulated nodes, and once more on a real one
//	testdata/simulated   needs many nodes, slow starts or failures on demand
//	testdata/node        needs containers that really run
//
// Every story has a namespace and a repository of its own. KUBECONFIG and the
// SITU variables point at them, so that a story says only what it is about.
package stories
