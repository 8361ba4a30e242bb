package planner

import "slices"

// LabelClaim is on the claims that pods get from a claim template of a workload
// whose host has none: the template is a generic ephemeral volume of the pods, and
// its name the value. The claim of such a volume lives as long as its pod.
const LabelClaim = Domain + "/claim"

// isClaim: a claim template changes, not a volume that the pods' template has of
// its own. No running pod can get another claim, and nobody is to lose what is on
// the one that it has, so nothing is made anew for it.
func isClaim(a asked) bool {
	if len(a.path) < 4 || a.path[2].key != "ephemeral" || a.path[3].key != "volumeClaimTemplate" {
		return false
	}
	return claimOf(a.from, a.path[1].item) && claimOf(a.to, a.path[1].item)
}

func claimOf(t Template, volume string) bool {
	volumes, _ := at(t, "spec", "volumes").([]any)
	return slices.ContainsFunc(volumes, func(item any) bool {
		v, _ := item.(map[string]any)
		return textAt(v, "name") == volume && textAt(v, "ephemeral", "volumeClaimTemplate", "metadata", "labels", LabelClaim) == volume
	})
}

// keepsClaims: nothing changes but claim templates.
func keepsClaims(reasons []Reason) bool {
	return len(reasons) > 0 && !slices.ContainsFunc(reasons, func(r Reason) bool { return r.Rule != "claim-template" })
}
