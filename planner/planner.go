// Package planner decides, for every pod, whether a commit can be reached by
// patching the live pod or only by recreating it, and it holds the words that
// the rest of situ speaks: commit, manifest, snapshot, plan, action.
//
// It is pure: same input, same plan. It does no I/O, reads no clock, logs
// nothing, edits nothing that it was handed and never fails. What must not be
// done is a refusal with its reason.
//
//	for each workload of the commit
//	  find its host, and the template that each of its pods was made from
//	  for each pod             ask the rules what every changed field costs
//	    the pod's verdict      is the costliest of them
//	  count                    how many pods may be touched now, in which order
//	  steps                    what to do now; everything later is a later round
//
// A rollout is several rounds of one commit. The planner keeps no state between
// them: each round is decided from what the cluster shows, so a crash, a second
// commit or somebody else's edit is never a special case.
package planner
