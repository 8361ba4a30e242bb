package kruise

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"situ.gitops/planner"
)

// CloneSet has the fields of apps.kruise.io/v1alpha1.
type CloneSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              CloneSetSpec `json:"spec"`
}

// CloneSetSpec is what a CloneSet wants.
type CloneSetSpec struct {
	Replicas        *int32                  `json:"replicas,omitempty"`
	Selector        *metav1.LabelSelector   `json:"selector"`
	Template        corev1.PodTemplateSpec  `json:"template"`
	MinReadySeconds int32                   `json:"minReadySeconds,omitempty"`
	UpdateStrategy  *CloneSetUpdateStrategy `json:"updateStrategy,omitempty"`
}

// CloneSetUpdateStrategy is how a CloneSet updates its pods.
type CloneSetUpdateStrategy struct {
	Type           string              `json:"type,omitempty"`
	Partition      *intstr.IntOrString `json:"partition,omitempty"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

var cloneSet = kind{
	name:     "CloneSet",
	versions: map[string]reflect.Type{"v1alpha1": reflect.TypeFor[CloneSet]()},
	fields: []Field{
		{Path: "spec.replicas", Support: Works, Text: "an autoscaler of the ReplicaSet may own it"},
		{Path: "spec.selector", Support: Works, Text: "of the ReplicaSet; it cannot change"},
		{Path: "spec.template", Support: Works, Text: "of the pods"},
		{Path: "spec.minReadySeconds", Support: Works, Text: "before a pod counts as available"},
		{Path: "spec.updateStrategy.type", Support: Works, Text: "ReCreate if it is not written"},
		{Path: "spec.updateStrategy.partition", Support: Works, Text: "a share rounds up"},
		{Path: "spec.updateStrategy.maxUnavailable", Support: Works, Text: "20% if it is not written; a share rounds down, and to 1 at least"},
	},
	check: checkCloneSet,
	host:  hostCloneSet,
}

func checkCloneSet(m planner.Manifest) []Mistake {
	strategy := decode[CloneSet](m).Spec.UpdateStrategy
	if strategy == nil {
		return nil
	}
	mistakes := badAmount(strategy.Partition, "spec", "updateStrategy", "partition")
	return append(mistakes, badAmount(strategy.MaxUnavailable, "spec", "updateStrategy", "maxUnavailable")...)
}

func hostCloneSet(m planner.Manifest) []planner.Manifest {
	spec := decode[CloneSet](m).Spec
	asks := planner.DefaultSettings()
	asks.Update = planner.ReCreate
	asks.MaxUnavailable = &planner.Amount{Value: 20, Percent: true}
	if s := spec.UpdateStrategy; s != nil {
		asks.Partition = amount(s.Partition)
		if s.MaxUnavailable != nil {
			asks.MaxUnavailable = amount(s.MaxUnavailable)
		}
		if s.Type != "" {
			asks.Update, asks.Explicit = planner.UpdateType(s.Type), true
		}
	}
	as := planner.Ref{APIVersion: "apps/v1", Kind: "ReplicaSet"}
	host := keep(mapAt(m.Object, "spec"), "replicas", "selector", "template", "minReadySeconds")
	return []planner.Manifest{hosted(m, as, host, asks)}
}
