package kruise

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/planner"
)

const (
	beforeApp = "BeforeAppContainer"
	afterApp  = "AfterAppContainer"
)

// hostSidecarSet makes the policy that gives the set's containers to new pods, and
// its binding. What concerns running pods is left to the planner.
func hostSidecarSet(m planner.Manifest) []planner.Manifest {
	v := viewSidecarSet(m)
	sidecars := sidecarsOf(m, v)
	policy := hosted(m, planner.Ref{APIVersion: policyVersion, Kind: "MutatingAdmissionPolicy"}, policySpec(v, sidecars), updateSettings(v))
	policy.Hosting.Sidecars = sidecars
	binding := hosted(m, planner.Ref{APIVersion: policyVersion, Kind: "MutatingAdmissionPolicyBinding"}, map[string]any{"policyName": m.Name}, planner.DefaultSettings())
	return []planner.Manifest{policy, binding}
}

func updateSettings(v sidecarView) planner.Settings {
	asks := planner.DefaultSettings()
	asks.Partition = amount(v.UpdateStrategy.Partition)
	asks.MaxUnavailable = amount(v.UpdateStrategy.MaxUnavailable)
	asks.Paused = v.UpdateStrategy.Paused
	asks.Priority, asks.Scatter = priority(v.UpdateStrategy.PriorityStrategy), scatter(v.UpdateStrategy.ScatterStrategy)
	return asks
}

// systemNamespaces hold what the cluster itself runs. OpenKruise leaves them alone, too.
var systemNamespaces = []string{metav1.NamespaceSystem, metav1.NamespacePublic}

func sidecarsOf(m planner.Manifest, v sidecarView) *planner.Sidecars {
	s := &planner.Sidecars{
		Set: m.Name, Pods: v.Selector, Named: slices.Compact(slices.Sorted(slices.Values(v.named))), Among: v.UpdateStrategy.Selector,
		NotUpdate: v.UpdateStrategy.Type == "NotUpdate", Injecting: !v.InjectionStrategy.Paused,
		Namespaces: &metav1.LabelSelector{}, Metadata: map[string]string{},
	}
	if v.chosen != nil {
		s.Namespaces = v.chosen.DeepCopy()
	}
	named := func(operator metav1.LabelSelectorOperator, names []string) {
		s.Namespaces.MatchExpressions = append(s.Namespaces.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: operator, Values: names})
	}
	if len(s.Named) > 0 {
		named(metav1.LabelSelectorOpIn, s.Named)
	}
	named(metav1.LabelSelectorOpNotIn, systemNamespaces)
	for _, patch := range v.PatchPodMetadata {
		if patch.PatchPolicy == "Overwrite" {
			maps.Copy(s.Metadata, patch.Annotations)
		}
	}
	s.Template, s.Record = sidecarTemplate(v), sidecarRecord(v)
	return s
}

// sidecarTemplate has what an update in place needs to know of the containers.
func sidecarTemplate(v sidecarView) planner.Template {
	list := func(containers []SidecarContainer) []any {
		var some []any
		for i := range containers {
			c := map[string]any{"name": containers[i].Name, "image": containers[i].Image}
			if policy := containers[i].RestartPolicy; policy != nil {
				c["restartPolicy"] = string(*policy)
			}
			some = append(some, c)
		}
		return some
	}
	spec := map[string]any{"containers": list(v.Containers), "initContainers": list(v.InitContainers)}
	if len(v.ImagePullSecrets) > 0 {
		spec["imagePullSecrets"] = jsonOf(v.ImagePullSecrets)
	}
	return planner.Template{"spec": spec}
}

// sidecarRecord is what a pod gets to remember: images as they are, since they
// come in place, and of everything else a digest.
func sidecarRecord(v sidecarView) planner.SidecarRecord {
	r := planner.SidecarRecord{Version: 1, Images: map[string]string{}, Parts: map[string]string{}}
	for name, list := range map[string][]SidecarContainer{"initContainers/": v.InitContainers, "containers/": v.Containers} {
		for _, c := range list {
			r.Images[c.Name] = c.Image
			c.Image = ""
			r.Parts[name+c.Name] = digest(c)
		}
	}
	for _, volume := range v.Volumes {
		r.Parts["volumes/"+volume.Name] = digest(volume)
	}
	for _, secret := range v.ImagePullSecrets {
		r.Parts["imagePullSecrets/"+secret.Name] = digest(secret)
	}
	r.Revision = digest(r)
	return r
}

// digest tells values apart; quantities are compared by value.
func digest(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("a checked SidecarSet that is no JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5])
}

// jsonOf is a value as JSON has it.
func jsonOf(value any) any {
	text, err := json.Marshal(value)
	var plain any
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		panic("a checked SidecarSet that is no JSON: " + err.Error())
	}
	return plain
}
