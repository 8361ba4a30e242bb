package planner

import (
	"cmp"
	"reflect"
	"slices"
)

// waves is the order of application. What others live in or are made of comes
// first; a kind that is not here comes with the last of them.
var waves = [][]string{
	{"Namespace"},
	{"CustomResourceDefinition"},
	{"PriorityClass", "StorageClass", "RuntimeClass", "IngressClass"},
	{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
	{"ResourceQuota", "LimitRange", "NetworkPolicy", "PodDisruptionBudget"},
	{"Secret", "ConfigMap", "PersistentVolume", "PersistentVolumeClaim", "Service"},
}

func waveOf(kind string) int {
	for i, kinds := range waves {
		if slices.Contains(kinds, kind) {
			return i
		}
	}
	return len(waves)
}

func sortObjects(objects []ObjectPlan) {
	slices.SortStableFunc(objects, func(a, b ObjectPlan) int { return cmp.Compare(a.Wave, b.Wave) })
}

// planObject plans an object that holds no pods: it is applied when the server
// would store something else than it has.
func planObject(commit Commit, m Manifest, snap Snapshot, coming coming) ObjectPlan {
	plan := ObjectPlan{Ref: m.Ref, Origin: m.Origin, Verb: None, State: Settled, Wave: waveOf(m.Kind)}
	proof := snap.Proofs[m.Ref]
	live, exists := snap.Live[m.Ref]
	switch {
	case proof.Object == nil && proof.Missing && coming.brings(m):
		plan.Verb, plan.State, plan.Text = Wait, Waiting, proof.Refusal
	case proof.Object == nil:
		plan.Verb, plan.State, plan.Text = RefuseObject, Failed, proof.Refusal
	case !exists:
		plan.Verb, plan.State = Create, Progressing
		plan.Steps = applyObject(commit, m, live, proof, "create ")
	case goes(live):
		plan.Verb, plan.State, plan.Text = Wait, Waiting, goingText
	case strangersPolicy(m, live):
		plan.Verb, plan.State, plan.Text = RefuseObject, Failed, strangersText(m)
	case differs(live.Object.Object, proof.Object.Object, sourcePath):
		plan.Verb, plan.State = Update, Progressing
		plan.Fields = changedFields(live.Object.Object, proof.Object.Object)
		plan.Steps = applyObject(commit, m, live, proof, "update ")
	case live.Health.Status == "Failed":
		plan.State, plan.Text = Failed, live.Health.Text
	case live.Health.Status == "InProgress" && m.Kind == "CustomResourceDefinition":
		plan.State, plan.Text = Progressing, live.Health.Text
	case m.Group() == groupKruise && m.Kind == "SidecarSet":
		plan.State, plan.Text = followSidecars(live.Object.Object)
	}
	return plan
}

func applyObject(commit Commit, m Manifest, live Live, proof Proof, verb string) []Step {
	r := &rollout{commit: commit, manifest: m, live: live, proof: proof}
	name := "apply"
	if live.Object == nil {
		name = "create"
	}
	return []Step{{r.apply(name, r.applyBody(), verb+m.Ref.String())}}
}

// changedFields names what differs, one level deep: "spec.ports", "data.greeting".
// Values are never shown: they may be a Secret's.
func changedFields(live, proof map[string]any) []string {
	except := [][]string{sourcePath}
	a, b := comparable(live, except), comparable(proof, except)
	var fields []string
	for _, top := range union(a, b) {
		if reflect.DeepEqual(a[top], b[top]) {
			continue
		}
		from, fromIs := a[top].(map[string]any)
		to, toIs := b[top].(map[string]any)
		if !fromIs && !toIs {
			fields = append(fields, top)
			continue
		}
		for _, key := range union(from, to) {
			if !reflect.DeepEqual(from[key], to[key]) {
				fields = append(fields, top+"."+key)
			}
		}
	}
	return fields
}
