package planner

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// applyBody is the manifest as it is sent to the server: Git's own fields, and
// the revision label where pods are found by it.
func (r *rollout) applyBody() map[string]any {
	body := clone(r.manifest.Object).(map[string]any)
	if r.proof.Claims {
		kept, _ := WithClaimTemplates(r.manifest, r.live.Object.Object)
		body = clone(kept.Object).(map[string]any)
	}
	body["apiVersion"], body["kind"] = r.manifest.APIVersion, r.manifest.Kind
	if r.reverted != "" {
		body = with(body, clone(map[string]any(r.want)), "spec", "template")
	}
	if spec := mapAt(body, "spec"); r.scaler != "" && r.live.Object != nil {
		delete(spec, "replicas")
	}
	if r.commit.Source != "" {
		body = with(body, r.commit.Source, sourcePath...)
	}
	return body
}

// labelled puts the revision label on a body's template.
func labelled(body map[string]any, revision string) map[string]any {
	return with(body, revision, "spec", "template", "metadata", "labels", LabelRevision)
}

// apply is the server-side apply of a body over the live object that it was decided on.
func (r *rollout) apply(name string, body map[string]any, text string) Action {
	action := Action{Name: name, Mode: ServerSideApply, Ref: r.manifest.Ref, UID: r.uid(), Body: body, Adopt: r.proof.Adopt, Text: text}
	if r.foreignReplicas() && r.live.Object != nil {
		action.Disown = []string{"spec.replicas"}
	}
	return action
}

// foreignReplicas: Git leaves the replicas to others. Giving them up must not
// bring them back to the server's default.
func (r *rollout) foreignReplicas() bool {
	return (IsWorkload(r.manifest.Ref) || IsFollowed(r.manifest.Ref)) && (r.scaler != "" || at(r.manifest.Object, "spec", "replicas") == nil)
}

// differs compares the live workload with its proof, but for some paths.
func (r *rollout) differs(except ...[]string) bool {
	if r.foreignReplicas() {
		except = append(except, []string{"spec", "replicas"})
	}
	wanted := r.proof.Object.Object
	if r.reverted != "" {
		wanted = with(wanted, map[string]any(r.want), "spec", "template")
	}
	return differs(r.live.Object.Object, wanted, append(except, revertedPath, sourcePath, generationPath)...)
}

// generationPath is where the server counts a DaemonSet's templates. It counts
// Git's own in a proof, also while another one is wanted.
var generationPath = []string{"metadata", "annotations", appsv1.DeprecatedTemplateGeneration}

var revertedPath = []string{"metadata", "annotations", AnnotationReverted}

func (r *rollout) uid() types.UID {
	if r.live.Object == nil {
		return ""
	}
	return r.live.Object.GetUID()
}

// createSteps make a workload that is not there yet.
func createSteps(r *rollout) []Step {
	body := r.applyBody()
	switch r.manifest.Kind {
	case "Deployment", "ReplicaSet":
		body = labelled(body, revision(r.want))
	case "Pod":
		body = markedPod(r)
	}
	return []Step{{r.apply("create", body, "create "+r.manifest.Ref.String())}}
}

// serverFields are set by the server or by controllers and never by Git.
var serverFields = []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink"}

// differs reports whether a live object is other than its proof, leaving out
// status, what the server writes, and the fields at some paths.
func differs(live, proof map[string]any, except ...[]string) bool {
	return !reflect.DeepEqual(comparable(live, except), comparable(proof, except))
}

func comparable(object map[string]any, except [][]string) map[string]any {
	o := without(object, "status", "apiVersion", "kind")
	o["metadata"] = without(mapAt(object, "metadata"), serverFields...)
	for _, path := range except {
		o = withoutAt(o, path)
	}
	return o
}

// withoutAt copies only along the path.
func withoutAt(m map[string]any, path []string) map[string]any {
	if len(path) == 1 {
		return without(m, path[0])
	}
	next, ok := m[path[0]].(map[string]any)
	if !ok {
		return m
	}
	changed := without(m)
	inner := withoutAt(next, path[1:])
	if len(inner) == 0 {
		delete(changed, path[0]) // absent and empty are the same
		return changed
	}
	changed[path[0]] = inner
	return changed
}
