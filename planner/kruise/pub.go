package kruise

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// What several kinds have in common.

// InPlaceUpdateStrategy is how pods go through an update in place.
type InPlaceUpdateStrategy struct {
	GracePeriodSeconds                  int32               `json:"gracePeriodSeconds,omitempty"`
	ImagePreDownloadParallelism         *intstr.IntOrString `json:"imagePreDownloadParallelism,omitempty"`
	ImagePreDownloadTimeoutSeconds      *int32              `json:"imagePreDownloadTimeoutSeconds,omitempty"`
	ImagePreDownloadMinUpdatedReadyPods *int32              `json:"imagePreDownloadMinUpdatedReadyPods,omitempty"`
}

// UpdatePriorityStrategy says which pods are updated first.
type UpdatePriorityStrategy struct {
	OrderPriority  []UpdatePriorityOrderTerm  `json:"orderPriority,omitempty"`
	WeightPriority []UpdatePriorityWeightTerm `json:"weightPriority,omitempty"`
}

// UpdatePriorityOrderTerm is a label whose value ends in a number: the higher, the earlier.
type UpdatePriorityOrderTerm struct {
	OrderedKey string `json:"orderedKey"`
}

// UpdatePriorityWeightTerm gives weight to pods: the heavier, the earlier.
type UpdatePriorityWeightTerm struct {
	Weight        int32                `json:"weight"`
	MatchSelector metav1.LabelSelector `json:"matchSelector"`
}

// UpdateScatterTerm is a label: pods that have it are spread over the update.
type UpdateScatterTerm struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Lifecycle are the hooks of pods.
type Lifecycle struct {
	PreDelete     *LifecycleHook `json:"preDelete,omitempty"`
	InPlaceUpdate *LifecycleHook `json:"inPlaceUpdate,omitempty"`
	PreNormal     *LifecycleHook `json:"preNormal,omitempty"`
}

// LifecycleHook holds a pod back for as long as it has these labels or finalizers.
type LifecycleHook struct {
	LabelsHandler     map[string]string `json:"labelsHandler,omitempty"`
	FinalizersHandler []string          `json:"finalizersHandler,omitempty"`
	MarkPodNotReady   bool              `json:"markPodNotReady,omitempty"`
}
