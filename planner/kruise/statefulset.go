package kruise

import (
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"situ.gitops/planner"
)

// StatefulSetV1alpha1 has the fields of apps.kruise.io/v1alpha1.
type StatefulSetV1alpha1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              StatefulSetCore `json:"spec"`
	Status            any             `json:"status,omitempty"`
}

// StatefulSet has the fields of apps.kruise.io/v1beta1.
type StatefulSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              StatefulSetSpec `json:"spec"`
	Status            any             `json:"status,omitempty"`
}

// StatefulSetCore is what both versions have.
type StatefulSetCore struct {
	Replicas             *int32                         `json:"replicas,omitempty"`
	Selector             *metav1.LabelSelector          `json:"selector"`
	Template             corev1.PodTemplateSpec         `json:"template"`
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	ServiceName          string                         `json:"serviceName,omitempty"`
	PodManagementPolicy  string                         `json:"podManagementPolicy,omitempty"`
	UpdateStrategy       StatefulSetUpdateStrategy      `json:"updateStrategy,omitempty"`
	RevisionHistoryLimit *int32                         `json:"revisionHistoryLimit,omitempty"`
}

// StatefulSetSpec is what v1beta1 has.
type StatefulSetSpec struct {
	StatefulSetCore                      `json:",inline"`
	VolumeClaimUpdateStrategy            VolumeClaimUpdateStrategy                               `json:"volumeClaimUpdateStrategy,omitempty"`
	ReserveOrdinals                      []intstr.IntOrString                                    `json:"reserveOrdinals,omitempty"`
	Lifecycle                            *Lifecycle                                              `json:"lifecycle,omitempty"`
	ScaleStrategy                        *StatefulSetScaleStrategy                               `json:"scaleStrategy,omitempty"`
	PersistentVolumeClaimRetentionPolicy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
	Ordinals                             *appsv1.StatefulSetOrdinals                             `json:"ordinals,omitempty"`
}

// StatefulSetUpdateStrategy is how a StatefulSet updates its pods.
type StatefulSetUpdateStrategy struct {
	Type          string                    `json:"type,omitempty"`
	RollingUpdate *StatefulSetRollingUpdate `json:"rollingUpdate,omitempty"`
}

// StatefulSetRollingUpdate is how it updates one pod after the other.
type StatefulSetRollingUpdate struct {
	Partition             *int32              `json:"partition,omitempty"`
	MaxUnavailable        *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	PodUpdatePolicy       string              `json:"podUpdatePolicy,omitempty"`
	Paused                bool                `json:"paused,omitempty"`
	UnorderedUpdate       *UnorderedUpdate    `json:"unorderedUpdate,omitempty"`
	InPlaceUpdateStrategy *StatefulSetInPlace `json:"inPlaceUpdateStrategy,omitempty"`
	MinReadySeconds       *int32              `json:"minReadySeconds,omitempty"`
}

// UnorderedUpdate gives up the order of the ordinals.
type UnorderedUpdate struct {
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`
}

// StatefulSetInPlace is how one pod is updated in place.
type StatefulSetInPlace struct {
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
}

// VolumeClaimUpdateStrategy is when claims that exist follow their template.
type VolumeClaimUpdateStrategy struct {
	Type string `json:"type,omitempty"`
}

// StatefulSetScaleStrategy is how pods are added.
type StatefulSetScaleStrategy struct {
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// growing is the update strategy of claims that follow their templates.
const growing = "OnPodRollingUpdate"

const rolling = "spec.updateStrategy.rollingUpdate."

var statefulSet = kind{
	name: "StatefulSet",
	versions: map[string]reflect.Type{
		"v1alpha1": reflect.TypeFor[StatefulSetV1alpha1](), "v1beta1": reflect.TypeFor[StatefulSet](),
	},
	fields: []Field{
		{Path: "spec.replicas", Support: Works, Text: "an autoscaler of the stock StatefulSet may own it"},
		{Path: "spec.selector", Support: Works, Text: "it cannot change"},
		{Path: "spec.template", Support: Works, Text: "of the pods; readiness gate InPlaceUpdateReady is used where it is there, and not asked for"},
		{Path: "spec.serviceName", Support: Works, Text: "it cannot change"},
		{Path: "spec.podManagementPolicy", Support: Works, Text: "it cannot change"},
		{Path: "spec.revisionHistoryLimit", Support: Works, Text: "10 if it is not written"},
		{Path: "spec.volumeClaimTemplates", Support: Works, Text: "a stock StatefulSet that is there takes no others: the plan tells what becomes of a change, and how to make the set anew around its pods"},
		{Since: "v1beta1", Path: "spec.volumeClaimUpdateStrategy.type", Support: Mapped, Text: "with OnPodRollingUpdate claims grow, all at once, where their storage class allows it; else they stay as they are"},
		{Since: "v1beta1", Path: "spec.persistentVolumeClaimRetentionPolicy", Support: Works, Text: "of the stock StatefulSet"},
		{Since: "v1beta1", Path: "spec.ordinals.start", Support: Works, Text: "of the stock StatefulSet"},
		{Since: "v1beta1", Path: "spec.reserveOrdinals", Support: Refused, Text: "a stock StatefulSet leaves no ordinal out in the middle; leave out the first ones with ordinals.start, or split the set in two"},
		{Since: "v1beta1", Path: "spec.lifecycle.inPlaceUpdate", Support: Works, Text: "before and after each update that restarts a container; with markPodNotReady pods get readiness gate InPlaceUpdateReady, and are made anew once for it"},
		{Since: "v1beta1", Path: "spec.lifecycle.preDelete", Support: Refused, Text: "the stock controller deletes pods and knows no hook; use a preStop hook of the container"},
		{Since: "v1beta1", Path: "spec.lifecycle.preNormal", Support: Refused, Text: "use a readiness gate of your own, which keeps a new pod from being available until you open it"},
		{Since: "v1beta1", Path: "spec.scaleStrategy.maxUnavailable", Support: Dropped, Text: "with podManagementPolicy Parallel all missing pods are made at once; with OrderedReady one after the other"},
		{Path: "spec.updateStrategy.type", Support: Works, Text: "RollingUpdate if it is not written; with OnDelete a pod is updated when somebody deletes it, and the stock set has OnDelete while pods are outdated"},
		{Path: rolling + "podUpdatePolicy", Support: Works, Text: "ReCreate if it is not written; InPlaceIfPossible and InPlaceOnly need no readiness gate"},
		{Path: rolling + "partition", Support: Works, Text: "pods with a lower ordinal stay, counted from ordinals.start; one of them that dies comes back as it was. With unorderedUpdate it is how many pods stay, and one of them that dies comes back updated"},
		{Path: rolling + "maxUnavailable", Support: Works, Text: "1 if it is not written; a share rounds down, and to 1 at least; other than 1 it wants podManagementPolicy Parallel"},
		{Path: rolling + "paused", Support: Works, Text: "no pod is updated, and one that dies comes back as pods were before the update; scaling goes on"},
		{Path: rolling + "minReadySeconds", Support: Mapped, Text: "minReadySeconds of the stock StatefulSet, so it counts for new pods, too"},
		{Path: rolling + "unorderedUpdate", Support: Works, Text: "situ deletes or patches the pods itself while the stock controller keeps off; it wants podManagementPolicy Parallel"},
		{Path: rolling + "unorderedUpdate.priorityStrategy.weightPriority", Support: Works, Text: "the heavier, the earlier; a pod that nothing matches weighs 0"},
		{Path: rolling + "unorderedUpdate.priorityStrategy.orderPriority", Support: Works, Text: "the higher the number at the end of the label, the earlier; a pod that has none of the labels comes last, as one without a weight does"},
		{Path: rolling + "inPlaceUpdateStrategy.gracePeriodSeconds", Support: Works, Text: "more than 0 adds readiness gate InPlaceUpdateReady to the template, which makes the pods anew once"},
	},
	check: checkStatefulSet,
	host:  hostStatefulSet,
}

func checkStatefulSet(m planner.Manifest) []Mistake {
	spec := decode[StatefulSet](m).Spec
	strategy := spec.UpdateStrategy
	claims := []string{"spec", "volumeClaimUpdateStrategy", "type"}
	at := func(names ...string) []string { return append([]string{"spec", "updateStrategy"}, names...) }
	mistakes := badLifecycle(spec.Lifecycle)
	mistakes = append(mistakes, oneOf(spec.VolumeClaimUpdateStrategy.Type, claims, growing, onDelete)...)
	mistakes = append(mistakes, oneOf(strategy.Type, at("type"), "RollingUpdate", onDelete)...)
	rolling := strategy.RollingUpdate
	if rolling == nil {
		return mistakes
	}
	if strategy.Type == onDelete {
		mistakes = append(mistakes, Mistake{Path: at("rollingUpdate"), Text: "has no meaning with type OnDelete; take one of them out"})
	}
	at = func(names ...string) []string {
		return append([]string{"spec", "updateStrategy", "rollingUpdate"}, names...)
	}
	mistakes = append(mistakes, oneOf(rolling.PodUpdatePolicy, at("podUpdatePolicy"), "ReCreate", "InPlaceIfPossible", "InPlaceOnly")...)
	mistakes = append(mistakes, badAmount(rolling.MaxUnavailable, at("maxUnavailable")...)...)
	if many := rolling.MaxUnavailable; many != nil && many.String() != "1" && spec.PodManagementPolicy != string(appsv1.ParallelPodManagement) {
		mistakes = append(mistakes, Mistake{Path: at("maxUnavailable"), Text: fmt.Sprintf("is %q; other than 1 it wants podManagementPolicy: Parallel", many.String())})
	}
	if u := rolling.UnorderedUpdate; u != nil {
		if spec.PodManagementPolicy != string(appsv1.ParallelPodManagement) {
			mistakes = append(mistakes, Mistake{Path: at("unorderedUpdate"), Text: "wants podManagementPolicy: Parallel"})
		}
		mistakes = append(mistakes, badPriority(u.PriorityStrategy, at("unorderedUpdate", "priorityStrategy"))...)
	}
	mistakes = append(mistakes, outside(rolling.Partition, 0, nobound, at("partition"))...)
	mistakes = append(mistakes, outside(rolling.MinReadySeconds, 0, 300, at("minReadySeconds"))...)
	if s := rolling.InPlaceUpdateStrategy; s != nil {
		mistakes = append(mistakes, outside(&s.GracePeriodSeconds, 0, nobound, at("inPlaceUpdateStrategy", "gracePeriodSeconds"))...)
	}
	return mistakes
}

func hostStatefulSet(m planner.Manifest) []planner.Manifest {
	spec := decode[StatefulSet](m).Spec
	written := mapAt(m.Object, "spec")
	host := keep(written, "replicas", "selector", "template", "serviceName", "podManagementPolicy", "volumeClaimTemplates",
		"revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "ordinals")
	asks, notReady := spec.asks()
	if asks.Grace > 0 || notReady {
		host["template"] = gated(mapAt(host, "template"))
	}
	strategy := map[string]any{}
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil {
		if rolling.MinReadySeconds != nil {
			host["minReadySeconds"] = int64(*rolling.MinReadySeconds)
		}
		own := keep(mapAt(written, "updateStrategy", "rollingUpdate"), "partition", "maxUnavailable")
		if asks.AnyOrder {
			delete(own, "partition") // the stock one is an ordinal
		}
		if len(own) > 0 {
			strategy["rollingUpdate"] = own
		}
	}
	if len(strategy) > 0 {
		host["updateStrategy"] = strategy
	}
	return []planner.Manifest{hosted(m, planner.Ref{APIVersion: "apps/v1", Kind: "StatefulSet"}, host, asks)}
}

// asks is what the planner does itself, and whether a hook keeps traffic away.
func (s StatefulSetSpec) asks() (asks planner.Settings, notReady bool) {
	asks = planner.DefaultSettings()
	asks.Update = planner.ReCreate
	asks.KeepClaims = s.VolumeClaimUpdateStrategy.Type != growing
	asks.Hooks, notReady = hooks(s.Lifecycle)
	asks.OnDelete = s.UpdateStrategy.Type == onDelete
	rolling := s.UpdateStrategy.RollingUpdate
	if rolling == nil {
		return asks, notReady
	}
	asks.MaxUnavailable, asks.Paused = amount(rolling.MaxUnavailable), rolling.Paused
	if rolling.PodUpdatePolicy != "" {
		asks.Update, asks.Explicit = planner.UpdateType(rolling.PodUpdatePolicy), true
	}
	if g := rolling.InPlaceUpdateStrategy; g != nil {
		asks.Grace = time.Duration(g.GracePeriodSeconds) * time.Second
	}
	if u := rolling.UnorderedUpdate; u != nil {
		asks.AnyOrder, asks.Priority = true, priority(u.PriorityStrategy)
		if rolling.Partition != nil {
			asks.Partition = &planner.Amount{Value: int(*rolling.Partition)}
		}
	}
	return asks, notReady
}
