package kruise

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"situ.gitops/planner"
)

// DaemonSet has the fields of apps.kruise.io/v1alpha1 and v1beta1.
type DaemonSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              DaemonSetSpec `json:"spec"`
	Status            any           `json:"status,omitempty"`
}

// DaemonSetSpec is what a DaemonSet wants.
type DaemonSetSpec struct {
	Selector             *metav1.LabelSelector   `json:"selector"`
	Template             corev1.PodTemplateSpec  `json:"template"`
	UpdateStrategy       DaemonSetUpdateStrategy `json:"updateStrategy,omitempty"`
	MinReadySeconds      int32                   `json:"minReadySeconds,omitempty"`
	BurstReplicas        *intstr.IntOrString     `json:"burstReplicas,omitempty"`
	RevisionHistoryLimit *int32                  `json:"revisionHistoryLimit,omitempty"`
	Lifecycle            *Lifecycle              `json:"lifecycle,omitempty"`
	ScaleStrategy        *DaemonSetScaleStrategy `json:"scaleStrategy,omitempty"`
}

// DaemonSetUpdateStrategy is how a DaemonSet updates its pods.
type DaemonSetUpdateStrategy struct {
	Type          string                  `json:"type,omitempty"`
	RollingUpdate *DaemonSetRollingUpdate `json:"rollingUpdate,omitempty"`
}

// DaemonSetRollingUpdate is how it updates node after node.
type DaemonSetRollingUpdate struct {
	Type           string                `json:"rollingUpdateType,omitempty"`
	MaxUnavailable *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
	MaxSurge       *intstr.IntOrString   `json:"maxSurge,omitempty"`
	Selector       *metav1.LabelSelector `json:"selector,omitempty"`
	Partition      *intstr.IntOrString   `json:"partition,omitempty"`
	Paused         *bool                 `json:"paused,omitempty"`
}

// DaemonSetScaleStrategy is how pods are added.
type DaemonSetScaleStrategy struct {
	PartitionedScaling bool `json:"partitionedScaling,omitempty"`
}

var daemonSet = kind{
	name: "DaemonSet",
	versions: map[string]reflect.Type{
		"v1alpha1": reflect.TypeFor[DaemonSet](), "v1beta1": reflect.TypeFor[DaemonSet](),
	},
	fields: []Field{
		{Path: "spec.selector", Support: Works, Text: "it cannot change"},
		{Path: "spec.template", Support: Works, Text: "of the pods"},
		{Path: "spec.minReadySeconds", Support: Works, Text: "before a pod counts as available"},
		{Path: "spec.revisionHistoryLimit", Support: Works, Text: "10 if it is not written"},
		{Path: "spec.burstReplicas", Support: Dropped, Text: "the stock controller makes 250 pods at a time, and has no such field; leave it out"},
		{Path: "spec.lifecycle", Support: Refused, Text: "no hook is waited for; use a preStop hook of the container"},
		{Path: "spec.scaleStrategy.partitionedScaling", Support: Refused, Text: "a stock DaemonSet puts a pod on each node at once; leave it out, and choose nodes with a nodeSelector of the template"},
		{Path: "spec.updateStrategy.type", Support: Works, Text: "RollingUpdate if it is not written; with OnDelete a pod is updated when somebody deletes it"},
		{Path: rolling + "rollingUpdateType", Support: Works, Text: "Standard if it is not written, which deletes a pod before its successor comes; Surging lets the successor come first"},
		{Path: rolling + "maxUnavailable", Support: Works, Text: "1 if it is not written, or 0 and no maxSurge; a share rounds down, and to 1 at least, but up where the stock controller makes all pods anew"},
		{Path: rolling + "maxSurge", Support: Works, Text: "pods whose successor comes first; Surging has 1 if it is not written; not with InPlaceIfPossible"},
		{Path: rolling + "partition", Support: Works, Text: "pods that stay; a share of the nodes rounds up; one of them that dies comes back updated"},
		{Path: rolling + "selector", Support: Works, Text: "of nodes: pods on others stay; one of them that dies comes back updated"},
		{Path: rolling + "paused", Support: Works, Text: "no pod is updated; new nodes get new pods"},
	},
	check: checkDaemonSet,
	host:  hostDaemonSet,
}

func checkDaemonSet(m planner.Manifest) []Mistake {
	strategy := decode[DaemonSet](m).Spec.UpdateStrategy
	mistakes := oneOf(strategy.Type, []string{"spec", "updateStrategy", "type"}, "RollingUpdate", onDelete)
	rolling := strategy.RollingUpdate
	if rolling == nil {
		return mistakes
	}
	at := func(names ...string) []string {
		return append([]string{"spec", "updateStrategy", "rollingUpdate"}, names...)
	}
	mistakes = append(mistakes, oneOf(rolling.Type, at("rollingUpdateType"), "Standard", "Surging", "InPlaceIfPossible")...)
	mistakes = append(mistakes, badAmount(rolling.MaxUnavailable, at("maxUnavailable")...)...)
	mistakes = append(mistakes, badAmount(rolling.MaxSurge, at("maxSurge")...)...)
	mistakes = append(mistakes, badAmount(rolling.Partition, at("partition")...)...)
	mistakes = append(mistakes, badSelector(rolling.Selector, at("selector"))...)
	surges := rolling.surge() != nil
	switch {
	case surges && rolling.Type == string(planner.InPlaceIfPossible):
		mistakes = append(mistakes, Mistake{Path: at("maxSurge"), Text: "is not for pods that are updated in place; leave it out, or use rollingUpdateType: Standard"})
	case surges && rolling.Type != surging && some(rolling.MaxUnavailable):
		mistakes = append(mistakes, Mistake{Path: at("maxSurge"), Text: "is for pods that never become unavailable; leave it out, or write maxUnavailable: 0"})
	case surges && (some(rolling.Partition) || rolling.Selector != nil):
		mistakes = append(mistakes, Mistake{Path: at("maxSurge"), Text: "is for all nodes: a stock DaemonSet cannot let successors come first on some of them; leave out it or partition and selector"})
	}
	return mistakes
}

const surging = "Surging"

// surge is how many successors come first, nil if none do.
func (u *DaemonSetRollingUpdate) surge() *intstr.IntOrString {
	if u == nil {
		return nil
	}
	if some(u.MaxSurge) {
		return u.MaxSurge
	}
	if u.Type == surging {
		one := intstr.FromInt32(1)
		return &one
	}
	return nil
}

// some: a number of pods is written, and is not zero.
func some(value *intstr.IntOrString) bool {
	a := amount(value)
	return a != nil && a.Value > 0
}

func hostDaemonSet(m planner.Manifest) []planner.Manifest {
	strategy := decode[DaemonSet](m).Spec.UpdateStrategy
	asks := planner.DefaultSettings()
	asks.Update = planner.ReCreate
	host := keep(mapAt(m.Object, "spec"), "selector", "template", "minReadySeconds", "revisionHistoryLimit")
	own := map[string]any{}
	if rolling := strategy.RollingUpdate; rolling != nil {
		asks.Partition, asks.Nodes = amount(rolling.Partition), rolling.Selector
		asks.Paused = rolling.Paused != nil && *rolling.Paused
		if rolling.Type == string(planner.InPlaceIfPossible) {
			asks.Update, asks.Explicit = planner.InPlaceIfPossible, true
		}
		switch surge := rolling.surge(); {
		case surge != nil:
			own["maxSurge"], own["maxUnavailable"] = plainValue(surge), int64(0)
		case some(rolling.MaxUnavailable):
			own["maxUnavailable"] = plainValue(rolling.MaxUnavailable)
		}
	}
	stock := keep(mapAt(m.Object, "spec", "updateStrategy"), "type")
	if len(own) > 0 && strategy.Type != onDelete {
		stock["rollingUpdate"] = own
	}
	if len(stock) > 0 {
		host["updateStrategy"] = stock
	}
	return []planner.Manifest{hosted(m, planner.Ref{APIVersion: "apps/v1", Kind: "DaemonSet"}, host, asks)}
}

func plainValue(value *intstr.IntOrString) any {
	if value.Type == intstr.String {
		return value.StrVal
	}
	return int64(value.IntVal)
}
