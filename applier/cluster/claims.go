package cluster

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"situ.gitops/planner"
)

// claimsRest is how long claims that may not be listed are left alone.
const claimsRest = 10 * time.Minute

// addClaims tells which claims there are, and which may grow, where the claim
// templates of a StatefulSet have changed. Nowhere else are they watched. The plan
// of a user who may not list them says so.
func (c *Client) addClaims(ctx context.Context, targets []target, snapshot *planner.Snapshot) error {
	needed := map[string]bool{}
	for _, t := range targets {
		if t.isWorkload() && c.proofs.answer(t.manifest.Ref).proof.Claims {
			needed[t.manifest.Namespace] = true
		}
	}
	if len(needed) == 0 || time.Now().Before(c.claimsAgain) {
		return nil
	}
	places := []place{{resource: classes}}
	for namespace := range needed {
		places = append(places, place{claims, namespace})
	}
	if _, err := c.caches.ensure(ctx, places); isFinal(err) {
		c.claimsAgain = time.Now().Add(claimsRest)
		c.log.WithError(err).Warn("claims are not known: those of StatefulSets do not grow")
		return nil
	} else if err != nil {
		return err
	}
	snapshot.Claims, snapshot.Expandable = map[string]planner.Claims{}, map[string]bool{}
	for _, class := range c.caches.all(place{resource: classes}) {
		allowed, _, _ := unstructured.NestedBool(class.full.Object, "allowVolumeExpansion")
		snapshot.Expandable[class.GetName()] = allowed
	}
	for namespace := range needed {
		found := planner.Claims{}
		for _, claim := range c.caches.all(place{claims, namespace}) {
			found[claim.GetName()] = claimOf(claim)
		}
		snapshot.Claims[namespace] = found
	}
	return nil
}

func claimOf(seen *sighting) planner.Claim {
	claim := planner.Claim{UID: seen.GetUID()}
	claim.Class, _, _ = unstructured.NestedString(seen.full.Object, "spec", "storageClassName")
	if storage, ok, _ := unstructured.NestedFieldNoCopy(seen.full.Object, "spec", "resources", "requests", "storage"); ok {
		claim.Storage = fmt.Sprint(storage)
	}
	return claim
}
