package realnode

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// nodeReady is an error until the node says that it can run pods. The address
// tells this run from an earlier one, whose Node object may still say Ready.
func nodeReady(ctx context.Context, client kubernetes.Interface, name, address string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !hasAddress(node, address) {
		return errors.New("the node has not reported itself yet")
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status != corev1.ConditionTrue {
			return fmt.Errorf("not ready: %s", condition.Message)
		}
		return taintsGone(node)
	}
	return errors.New("the node has no Ready condition yet")
}

func hasAddress(node *corev1.Node, address string) bool {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && a.Address == address {
			return true
		}
	}
	return false
}

// taintsGone is an error until the controllers let pods onto the node: they take
// the not-ready taint away a moment after the node became ready.
func taintsGone(node *corev1.Node) error {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return fmt.Errorf("still tainted %s", taint.Key)
		}
	}
	return nil
}
