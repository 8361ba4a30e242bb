package planner

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// nodeChoice are the nodes whose pods are updated, nil for all of them.
type nodeChoice struct {
	selector labels.Selector
	labels   map[string]map[string]string // by node
}

// chooseNodes looks again after a while: no event tells that a node got a label.
func chooseNodes(r *rollout, snap Snapshot) *nodeChoice {
	if r.settings.Nodes == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(r.settings.Nodes)
	if err != nil {
		selector = labels.Nothing() // a mistake of the manifest, and told as one
	}
	r.wakeAt(r.now.Add(nodesAgain))
	return &nodeChoice{selector: selector, labels: snap.NodeLabels}
}

const nodesAgain = 30 * time.Second

func (n *nodeChoice) keeps(pod *corev1.Pod) string {
	switch {
	case n == nil || n.labels != nil && n.selector.Matches(labels.Set(n.labels[pod.Spec.NodeName])):
		return ""
	case n.labels == nil:
		return "kept: the labels of nodes are not known; grant the verbs list and watch on nodes"
	}
	return "kept on nodes that are not selected"
}
