package planner

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// The server lets nobody change the claim templates of a StatefulSet that is
// there. So a commit that does is applied with those of the cluster, and what
// becomes of the change is a line of the plan:
//
//	more storage        the pods' claims grow where their storage class lets them,
//	                    those of later pods as well
//	less storage        kept: a claim never shrinks
//	anything else       kept; the set must be made anew, which its pods outlive

// Claim is a PersistentVolumeClaim, as far as the plan of its StatefulSet goes.
type Claim struct {
	UID     types.UID
	Class   string // of storage, "" if it has none
	Storage string // asked for
}

// Claims are what a snapshot knows of the claims of one namespace, by name. It
// has them only where claim templates have changed.
type Claims map[string]Claim

var claimTemplatesPath = []string{"spec", "volumeClaimTemplates"}

// WithClaimTemplates is a StatefulSet's manifest with the claim templates of the
// live object. It is false where they are the same to the letter, or none are there.
func WithClaimTemplates(m Manifest, live map[string]any) (Manifest, bool) {
	if hostKind(m.Ref) != "StatefulSet" || live == nil {
		return m, false
	}
	now, wanted := at(live, claimTemplatesPath...), at(m.Object, claimTemplatesPath...)
	if reflect.DeepEqual(now, wanted) {
		return m, false
	}
	if now == nil {
		m.Object = withoutAt(m.Object, claimTemplatesPath)
		return m, true
	}
	m.Object = with(m.Object, clone(now), claimTemplatesPath...)
	return m, true
}

// claimChange is what Git wants of one claim template beside what the set has.
type claimChange struct {
	name     string
	from, to string // storage, where there is more of it
	kept     string // why pods keep what they have, "" if their claims grow
}

// madeAnew is how a StatefulSet gets other claim templates.
func madeAnew(name string) string {
	return "to change the set, delete it without its pods (kubectl delete statefulsets.apps " + name + " --cascade=orphan): it is made anew and takes them back"
}

// ClaimTemplatesWayOut follows a refusal of a StatefulSet that wants other claim
// templates than the live object has, and a pod template that needs them.
func ClaimTemplatesWayOut(m Manifest, live map[string]any) string {
	if hostKind(m.Ref) != "StatefulSet" || len(claimChanges(live, m.Object)) == 0 {
		return ""
	}
	return "; " + madeAnew(m.Name)
}

// claimChanges are in the order of the templates' names.
func claimChanges(live, wanted map[string]any) []claimChange {
	now, then := claimTemplates(live), claimTemplates(wanted)
	makeAnew := madeAnew(textAt(live, "metadata", "name"))
	var changes []claimChange
	for _, name := range union(now, then) {
		c := claimChange{name: name}
		old, isOld := now[name].(map[string]any)
		next, isNew := then[name].(map[string]any)
		switch {
		case !isOld:
			c.kept = "it is new, and a StatefulSet that is there cannot get one; " + makeAnew
		case !isNew:
			c.kept = "Git has it no longer, and pods keep it; " + makeAnew
		default:
			field := claimField(old, next)
			c.from, c.to = storageOf(old), storageOf(next)
			switch order := compareStorage(c.from, c.to); {
			case order > 0:
				c.kept = fmt.Sprintf("%s is less than %s, and a claim never shrinks", c.to, c.from)
			case field != "":
				c.kept = field + " differs, and pods keep what they have; " + makeAnew
			case order == 0:
				continue
			}
		}
		changes = append(changes, c)
	}
	return changes
}

func claimTemplates(object map[string]any) map[string]any {
	found := map[string]any{}
	list, _ := at(object, claimTemplatesPath...).([]any)
	for _, item := range list {
		if claim, ok := item.(map[string]any); ok {
			found[textAt(claim, "metadata", "name")] = claim
		}
	}
	return found
}

var storagePath = []string{"spec", "resources", "requests", "storage"}

func storageOf(claim map[string]any) string {
	storage := at(claim, storagePath...)
	if storage == nil {
		return ""
	}
	return fmt.Sprint(storage)
}

// compareStorage takes what it cannot read for equal: the server tells.
func compareStorage(a, b string) int {
	from, err := resource.ParseQuantity(a)
	if err != nil {
		return 0
	}
	to, err := resource.ParseQuantity(b)
	if err != nil {
		return 0
	}
	return from.Cmp(to)
}

// claimField names a field beside the storage in which two templates differ, "" if
// there is none. What the server fills in is no difference.
func claimField(live, wanted map[string]any) string {
	for _, part := range []string{"labels", "annotations"} {
		if from, to := mapAt(live, "metadata", part), mapAt(wanted, "metadata", part); len(from)+len(to) > 0 && !reflect.DeepEqual(from, to) {
			return "metadata." + part
		}
	}
	from, to := withoutAt(mapAt(live, "spec"), storagePath[1:]), withoutAt(mapAt(wanted, "spec"), storagePath[1:])
	for _, field := range union(from, to) {
		filledIn := field == "volumeMode" && from[field] == "Filesystem" && to[field] == nil
		if !filledIn && !reflect.DeepEqual(from[field], to[field]) {
			return "spec." + field
		}
	}
	return ""
}

// planClaims tells what becomes of changed claim templates, and grows claims.
func (r *rollout) planClaims(plan *WorkloadPlan, snap Snapshot) Step {
	if !r.proof.Claims {
		return nil
	}
	var step Step
	for _, change := range claimChanges(r.live.Object.Object, r.manifest.Object) {
		say := func(text string, values ...any) {
			line := fmt.Sprintf("spec.volumeClaimTemplates[%s]: ", change.name) + fmt.Sprintf(text, values...)
			plan.Warnings = append(plan.Warnings, line)
			r.claims = cmp.Or(r.claims, line)
		}
		switch {
		case change.kept != "":
			say("%s", change.kept)
		case r.settings.KeepClaims:
			say("%s instead of %s is for claims to come, and a StatefulSet that is there cannot get it; with volumeClaimUpdateStrategy OnPodRollingUpdate its claims grow", change.to, change.from)
		case r.settings.Paused:
			say("claims grow from %s to %s once updates are not paused", change.from, change.to)
		default:
			say("claims grow from %s to %s; the set itself keeps %s, so those of new pods grow once they are there", change.from, change.to, change.from)
			grown, stuck := r.grow(change, snap)
			step = append(step, grown...)
			for _, why := range stuck {
				say("%s", why)
			}
		}
	}
	if r.held != "" {
		return nil
	}
	return step
}

// grow asks for more storage in the claims of the set's pods that ask for less.
func (r *rollout) grow(change claimChange, snap Snapshot) (step Step, stuck []string) {
	claims := snap.Claims[r.manifest.Namespace]
	if claims == nil {
		return nil, []string{"claims and storage classes are not known; grant the verbs get, list, watch and patch on persistentvolumeclaims, and list and watch on storageclasses"}
	}
	var names []string
	for i := range r.cases {
		names = append(names, change.name+"-"+r.cases[i].pod.Name)
	}
	slices.Sort(names)
	for _, name := range names {
		claim, ok := claims[name]
		switch {
		case !ok || compareStorage(claim.Storage, change.to) >= 0:
		case !snap.Expandable[claim.Class]:
			stuck = append(stuck, fmt.Sprintf("claim %s stays at %s: storage class %q does not allow volumes to grow (allowVolumeExpansion)", name, claim.Storage, claim.Class))
		default:
			step = append(step, growClaim(Ref{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: r.manifest.Namespace, Name: name}, claim, change.to))
		}
	}
	return step, stuck
}

func growClaim(ref Ref, claim Claim, to string) Action {
	body := map[string]any{"metadata": map[string]any{"uid": string(claim.UID)}}
	return Action{
		Name: "grow", Mode: StrategicPatch, Ref: ref, UID: claim.UID, Body: with(body, to, storagePath...),
		Text: fmt.Sprintf("let persistentvolumeclaim/%s grow from %s to %s", ref.Name, claim.Storage, to),
	}
}
