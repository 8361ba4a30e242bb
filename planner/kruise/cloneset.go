package kruise

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"situ.gitops/planner"
)

// CloneSetAlpha has the fields of apps.kruise.io/v1alpha1.
type CloneSetAlpha struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              CloneSetAlphaSpec `json:"spec"`
	Status            any               `json:"status,omitempty"`
}

// CloneSetAlphaSpec has the type of the update beside everything else about it.
type CloneSetAlphaSpec struct {
	CloneSetSpec   `json:",inline"`
	ScaleStrategy  CloneSetAlphaScale  `json:"scaleStrategy,omitempty"`
	UpdateStrategy CloneSetAlphaUpdate `json:"updateStrategy,omitempty"`
}

// CloneSetAlphaUpdate is how pods are updated.
type CloneSetAlphaUpdate struct {
	Type            string `json:"type,omitempty"`
	CloneSetRolling `json:",inline"`
}

// CloneSetAlphaScale is how pods are added and removed.
type CloneSetAlphaScale struct {
	CloneSetScale   `json:",inline"`
	DisablePVCReuse bool `json:"disablePVCReuse,omitempty"`
}

// CloneSet has the fields of apps.kruise.io/v1beta1.
type CloneSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              CloneSetBetaSpec `json:"spec"`
	Status            any              `json:"status,omitempty"`
}

// CloneSetBetaSpec has what a rolling update asks for in a place of its own.
type CloneSetBetaSpec struct {
	CloneSetSpec   `json:",inline"`
	ScaleStrategy  CloneSetBetaScale  `json:"scaleStrategy,omitempty"`
	UpdateStrategy CloneSetBetaUpdate `json:"updateStrategy,omitempty"`
}

// CloneSetBetaUpdate is how pods are updated.
type CloneSetBetaUpdate struct {
	Type          string               `json:"type,omitempty"`
	RollingUpdate *CloneSetBetaRolling `json:"rollingUpdate,omitempty"`
}

// CloneSetBetaRolling is how pods are updated one after the other.
type CloneSetBetaRolling struct {
	PodUpdatePolicy string `json:"podUpdatePolicy,omitempty"`
	CloneSetRolling `json:",inline"`
}

// CloneSetBetaScale is how pods are added and removed.
type CloneSetBetaScale struct {
	CloneSetScale  `json:",inline"`
	EnablePVCReuse bool `json:"enablePVCReuse,omitempty"`
}

// CloneSetSpec is what all versions have.
type CloneSetSpec struct {
	Replicas                *int32                         `json:"replicas,omitempty"`
	Selector                *metav1.LabelSelector          `json:"selector"`
	Template                corev1.PodTemplateSpec         `json:"template"`
	VolumeClaimTemplates    []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	RevisionHistoryLimit    *int32                         `json:"revisionHistoryLimit,omitempty"`
	MinReadySeconds         int32                          `json:"minReadySeconds,omitempty"`
	ProgressDeadlineSeconds *int32                         `json:"progressDeadlineSeconds,omitempty"`
	Lifecycle               *Lifecycle                     `json:"lifecycle,omitempty"`
}

// CloneSetScale is how all versions add and remove pods.
type CloneSetScale struct {
	PodsToDelete           []string            `json:"podsToDelete,omitempty"`
	MaxUnavailable         *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	ExcludePreparingDelete bool                `json:"excludePreparingDelete,omitempty"`
}

// CloneSetRolling is how all versions update pods.
type CloneSetRolling struct {
	Partition             *intstr.IntOrString     `json:"partition,omitempty"`
	MaxUnavailable        *intstr.IntOrString     `json:"maxUnavailable,omitempty"`
	MaxSurge              *intstr.IntOrString     `json:"maxSurge,omitempty"`
	Paused                bool                    `json:"paused,omitempty"`
	PriorityStrategy      *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`
	ScatterStrategy       []UpdateScatterTerm     `json:"scatterStrategy,omitempty"`
	InPlaceUpdateStrategy *InPlaceUpdateStrategy  `json:"inPlaceUpdateStrategy,omitempty"`
}

var cloneSet = kind{
	name: "CloneSet",
	versions: map[string]reflect.Type{
		"v1alpha1": reflect.TypeFor[CloneSetAlpha](),
		"v1beta1":  reflect.TypeFor[CloneSet](),
	},
	fields: cloneSetFields(),
	check:  checkCloneSet,
	host:   hostCloneSet,
}

// cloneSetView is a CloneSet of any version.
type cloneSetView struct {
	CloneSetSpec
	scale   CloneSetScale
	rolling CloneSetRolling
	update  string   // how pods are updated, "" if it is not written
	updates []string // what may be written
	typeAt  []string // where that is written
	at      []string // where the rest of the rolling update is
}

func viewCloneSet(m planner.Manifest) cloneSetView {
	at := []string{"spec", "updateStrategy"}
	if m.APIVersion == Group+"/v1alpha1" {
		spec := decode[CloneSetAlpha](m).Spec
		return cloneSetView{
			CloneSetSpec: spec.CloneSetSpec, scale: spec.ScaleStrategy.CloneSetScale, rolling: spec.UpdateStrategy.CloneSetRolling,
			update: spec.UpdateStrategy.Type, updates: under(podUpdates, onDelete), typeAt: under(at, "type"), at: at,
		}
	}
	spec := decode[CloneSet](m).Spec
	v := cloneSetView{CloneSetSpec: spec.CloneSetSpec, scale: spec.ScaleStrategy.CloneSetScale, at: under(at, "rollingUpdate")}
	v.updates, v.typeAt = podUpdates, under(v.at, "podUpdatePolicy")
	if r := spec.UpdateStrategy.RollingUpdate; r != nil {
		v.rolling, v.update = r.CloneSetRolling, r.PodUpdatePolicy
	}
	if t := spec.UpdateStrategy.Type; t != "" && t != rollingUpdate {
		v.update, v.updates, v.typeAt = t, []string{rollingUpdate, onDelete}, under(at, "type")
	}
	return v
}
