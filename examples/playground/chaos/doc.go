// Package chaos drives random sequences of commits and misfortunes through situ
// on a real control plane, and tests that what must always hold does hold.
//
// It owns the sequences, the misfortunes and the eight promises. It leaves the
// cluster, its nodes and the Git server to the packages of the playground.
//
//	script    a sequence of steps, from a seed
//	stage     what one script runs on: a namespace, three nodes, a repository
//	life      one situ, from its start to its end or its kill: the real wiring in
//	          this process, or the real program
//	door      stands between a life and the API server: it writes down every
//	          request, refuses some, loses some answers, and kills at a chosen one
//	git door  stands between all lives and Git: it counts, and refuses for a while
//	judge     watches all pods and every plan, and says what must not have been
//	verdict   what has to be true once the newest commit has settled
//
// A kill is as sudden as a power cut: from one request on nothing of that life
// reaches the API server or Git any more, and the next life knows nothing.
//
// A script that fails is printed with its seed, and shrunk: steps are left out
// for as long as it still fails. Timing is no part of a script, so a shorter one
// is tried a few times before it is believed to hold.
package chaos
