package kruise

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"situ.gitops/planner"
)

// SidecarSetAlpha has the fields of apps.kruise.io/v1alpha1.
type SidecarSetAlpha struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              SidecarSetAlphaSpec `json:"spec"`
	Status            any                 `json:"status,omitempty"`
}

// SidecarSetAlphaSpec says where pods are in fields of its own.
type SidecarSetAlphaSpec struct {
	SidecarSetSpec    `json:",inline"`
	Namespace         string                     `json:"namespace,omitempty"`
	NamespaceSelector *SidecarNamespaceSelection `json:"namespaceSelector,omitempty"`
}

// SidecarNamespaceSelection names namespaces, or selects them.
type SidecarNamespaceSelection struct {
	Namespaces           []string `json:"namespaces,omitempty"`
	metav1.LabelSelector `json:",inline"`
}

// SidecarSet has the fields of apps.kruise.io/v1beta1.
type SidecarSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              SidecarSetBetaSpec `json:"spec"`
	Status            any                `json:"status,omitempty"`
}

// SidecarSetBetaSpec says where pods are in one field.
type SidecarSetBetaSpec struct {
	SidecarSetSpec    `json:",inline"`
	SpecificNamespace *SidecarNamespace `json:"specificNamespace,omitempty"`
	CustomVersion     string            `json:"customVersion,omitempty"`
}

// SidecarNamespace names one namespace, or selects some.
type SidecarNamespace struct {
	Namespace         string                `json:"namespace,omitempty"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// SidecarSetSpec is what all versions have.
type SidecarSetSpec struct {
	Selector             *metav1.LabelSelector         `json:"selector,omitempty"`
	InitContainers       []SidecarContainer            `json:"initContainers,omitempty"`
	Containers           []SidecarContainer            `json:"containers,omitempty"`
	Volumes              []corev1.Volume               `json:"volumes,omitempty"`
	UpdateStrategy       SidecarUpdate                 `json:"updateStrategy,omitempty"`
	InjectionStrategy    SidecarInjection              `json:"injectionStrategy,omitempty"`
	ImagePullSecrets     []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	RevisionHistoryLimit *int32                        `json:"revisionHistoryLimit,omitempty"`
	PatchPodMetadata     []SidecarMetadata             `json:"patchPodMetadata,omitempty"`
}

// SidecarContainer is a container that pods get.
type SidecarContainer struct {
	corev1.Container        `json:",inline"`
	PodInjectPolicy         string         `json:"podInjectPolicy,omitempty"`
	UpgradeStrategy         SidecarUpgrade `json:"upgradeStrategy,omitzero"`
	ShareVolumePolicy       SidecarShare   `json:"shareVolumePolicy,omitzero"`
	ShareVolumeDevicePolicy *SidecarShare  `json:"shareVolumeDevicePolicy,omitempty"`
	TransferEnv             []TransferEnv  `json:"transferEnv,omitempty"`
}

// SidecarUpgrade is how a container comes to another image.
type SidecarUpgrade struct {
	UpgradeType          string `json:"upgradeType,omitempty"`
	HotUpgradeEmptyImage string `json:"hotUpgradeEmptyImage,omitempty"`
}

// SidecarShare says whether what the pod's own containers have is shared.
type SidecarShare struct {
	Type string `json:"type,omitempty"`
}

// TransferEnv names envs that a container gets from another one of the pod.
type TransferEnv struct {
	SourceContainerName     string                   `json:"sourceContainerName,omitempty"`
	SourceContainerNameFrom *SidecarContainerNameRef `json:"sourceContainerNameFrom,omitempty"`
	EnvName                 string                   `json:"envName,omitempty"`
	EnvNames                []string                 `json:"envNames,omitempty"`
}

// SidecarContainerNameRef is a field of the pod that names a container.
type SidecarContainerNameRef struct {
	FieldRef *corev1.ObjectFieldSelector `json:"fieldRef,omitempty"`
}

// SidecarUpdate is how running pods are updated.
type SidecarUpdate struct {
	Type             string                  `json:"type,omitempty"`
	Paused           bool                    `json:"paused,omitempty"`
	Selector         *metav1.LabelSelector   `json:"selector,omitempty"`
	Partition        *intstr.IntOrString     `json:"partition,omitempty"`
	MaxUnavailable   *intstr.IntOrString     `json:"maxUnavailable,omitempty"`
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`
	ScatterStrategy  []UpdateScatterTerm     `json:"scatterStrategy,omitempty"`
}

// SidecarInjection is what new pods get.
type SidecarInjection struct {
	Paused   bool             `json:"paused,omitempty"`
	Revision *SidecarRevision `json:"revision,omitempty"`
}

// SidecarRevision is an earlier state of the set.
type SidecarRevision struct {
	CustomVersion *string `json:"customVersion,omitempty"`
	RevisionName  *string `json:"revisionName,omitempty"`
	Policy        string  `json:"policy,omitempty"`
}

// SidecarMetadata are annotations that pods get.
type SidecarMetadata struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	PatchPolicy string            `json:"patchPolicy,omitempty"`
}

var sidecarSet = kind{
	name: "SidecarSet",
	versions: map[string]reflect.Type{
		"v1alpha1": reflect.TypeFor[SidecarSetAlpha](),
		"v1beta1":  reflect.TypeFor[SidecarSet](),
	},
	fields: sidecarSetFields(),
	check:  checkSidecarSet,
	host:   hostSidecarSet,
}

// sidecarView is a SidecarSet of any version.
type sidecarView struct {
	SidecarSetSpec
	named  []string              // the namespaces that it names
	chosen *metav1.LabelSelector // or selects; neither: all
	at     []string              // where it does so
}

func viewSidecarSet(m planner.Manifest) sidecarView {
	if m.APIVersion == Group+"/v1alpha1" {
		spec := decode[SidecarSetAlpha](m).Spec
		v := sidecarView{SidecarSetSpec: spec.SidecarSetSpec, at: []string{"spec", "namespaceSelector"}}
		if s := spec.NamespaceSelector; s != nil {
			v.named, v.chosen = s.Namespaces, selecting(&s.LabelSelector)
		}
		if spec.Namespace != "" {
			v.named = append(v.named, spec.Namespace)
		}
		return v
	}
	spec := decode[SidecarSet](m).Spec
	v := sidecarView{SidecarSetSpec: spec.SidecarSetSpec, at: []string{"spec", "specificNamespace"}}
	if s := spec.SpecificNamespace; s != nil {
		v.chosen = selecting(s.NamespaceSelector)
		if s.Namespace != "" {
			v.named = append(v.named, s.Namespace)
		}
	}
	return v
}

// selecting is a selector that says something, else nil.
func selecting(s *metav1.LabelSelector) *metav1.LabelSelector {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return nil
	}
	return s
}
