package nodes_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/examples/playground/nodes"
)

func TestANodeThatIsStoppedEndsNoPodUntilItIsBack(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	simulator := g.simulate(nodes.Options{Count: 2, Prefix: "lossy-"})
	lost := g.createReady("web=shop/web:v1", onNode("lossy-0"))
	simulator.StopNode("lossy-0")
	pods := shared.Client().CoreV1().Pods(g.namespace)
	if err := pods.Delete(t.Context(), lost.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// A pod on the other node that comes and goes meanwhile shows that the
	// simulator had its chance.
	other := g.createReady("web=shop/web:v1", onNode("lossy-1"))
	if err := pods.Delete(t.Context(), other.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	g.eventually(g.isGone(other.Name))
	if g.isGone(lost.Name)() == nil {
		t.Fatal("the pod of a stopped node ended")
	}
	if err := simulator.StartNode(t.Context(), "lossy-0"); err != nil {
		t.Fatal(err)
	}
	g.eventually(g.isGone(lost.Name))
}

func TestANodeThatWasTakenForLostReportsItselfReady(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	name := g.simulate(nodes.Options{Count: 1, Prefix: "slow-"}).Names()[0]
	lost := []byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}`)
	client := shared.Client().CoreV1().Nodes()
	if _, err := client.Patch(t.Context(), name, types.StrategicMergePatchType, lost, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	g.eventually(func() error {
		node, err := client.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("node %s is not ready: %+v", name, node.Status.Conditions)
	})
}

func TestPodsOfForeignNodesAreNeverTouched(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "foreign-", Labels: map[string]string{nodes.Label: "simulated"}}}
	node, err := shared.Client().CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	foreign := g.create("web=shop/web:v1", onNode(node.Name))
	g.createReady("web=shop/web:v1") // made later, and reported: the foreign one was seen
	if is := g.get(foreign.Name); len(is.Status.ContainerStatuses) > 0 || is.Status.PodIP != "" {
		t.Errorf("the pod of a foreign node was reported: %+v", is.Status)
	}
}

func (g ground) isGone(name string) func() error {
	return func() error {
		_, err := shared.Client().CoreV1().Pods(g.namespace).Get(g.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("pod %s is still there (%v)", name, err)
	}
}
