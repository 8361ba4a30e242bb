package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

const (
	// A node renews its lease this often and is lost after several misses.
	heartbeat = 5 * time.Second
	// Nobody listens there, so that kubectl logs and exec fail at once.
	nobody = 1
	// Every simulated node says that it is on this machine.
	hostAddress = "127.0.0.1"
)

// capacity is generous: what a simulated node holds costs nothing.
var capacity = corev1.ResourceList{
	corev1.ResourceCPU:              resource.MustParse("1000"),
	corev1.ResourceMemory:           resource.MustParse("4000Gi"),
	corev1.ResourcePods:             resource.MustParse("10000"),
	corev1.ResourceEphemeralStorage: resource.MustParse("10000Gi"),
}

// register makes the Node object if it is not there, and reports it ready.
func (s *Simulator) register(ctx context.Context, name string, spec corev1.NodeSpec) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			Label:                    "simulated",
			corev1.LabelHostname:     name,
			corev1.LabelOSStable:     "linux",
			corev1.LabelArchStable:   "amd64",
			corev1.LabelTopologyZone: "simulated",
		}},
		Spec: spec,
	}
	_, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("register node %s: %w", name, err)
	}
	return s.revive(ctx, name)
}

// revive gives every sign of life that a node has.
func (s *Simulator) revive(ctx context.Context, name string) error {
	if err := s.renew(ctx, name); err != nil {
		return err
	}
	return s.reportNode(ctx, name)
}

// reportNode patches the node's status: the controllers write to it as well.
func (s *Simulator) reportNode(ctx context.Context, name string) error {
	now := metav1.Now()
	status := corev1.NodeStatus{
		Capacity:        capacity,
		Allocatable:     capacity,
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: hostAddress}, {Type: corev1.NodeHostName, Address: name}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: nobody}},
		Conditions: []corev1.NodeCondition{
			healthy(corev1.NodeMemoryPressure, corev1.ConditionFalse, now),
			healthy(corev1.NodeDiskPressure, corev1.ConditionFalse, now),
			healthy(corev1.NodePIDPressure, corev1.ConditionFalse, now),
			healthy(corev1.NodeReady, corev1.ConditionTrue, now),
		},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: s.version, ContainerRuntimeVersion: "simulated://1", OperatingSystem: "linux", Architecture: "amd64", OSImage: "simulated",
		},
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("report node %s: %w", name, err)
	}
	_, err = s.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("report node %s: %w", name, err)
	}
	return nil
}

func healthy(kind corev1.NodeConditionType, status corev1.ConditionStatus, now metav1.Time) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: kind, Status: status, Reason: "Simulated", Message: "this node is simulated",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
}

// beat keeps the nodes alive in the eyes of the controllers. A heartbeat that
// is refused is not retried: the next one comes soon.
func (s *Simulator) beat(ctx context.Context) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, name := range s.names {
			if s.plays(name) {
				_ = s.renew(ctx, name)
			}
		}
	}
}

// watchNodes reports every node again that somebody took for lost although it
// lives: on a busy machine heartbeats come late.
func (s *Simulator) watchNodes(ctx context.Context) error {
	simulated := func(options *metav1.ListOptions) { options.LabelSelector = Label + "=simulated" }
	watch := cache.NewFilteredListWatchFromClient(s.client.CoreV1().RESTClient(), "nodes", corev1.NamespaceAll, simulated)
	informer := cache.NewSharedInformer(watch, &corev1.Node{}, 0)
	look := func(object any) {
		if node := object.(*corev1.Node); s.plays(node.Name) && !nodeReady(node) {
			_ = s.reportNode(ctx, node.Name) // if refused, the controllers write again soon
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, node any) { look(node) }})
	if err != nil {
		return err
	}
	s.running.Go(func() { informer.RunWithContext(ctx) })
	return nil
}

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// renew writes the lease by which the controllers know that a node lives.
func (s *Simulator) renew(ctx context.Context, node string) error {
	leases := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NowMicro()
	patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, now.Format(metav1.RFC3339Micro))
	_, err := leases.Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		seconds := int32(40)
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: corev1.NamespaceNodeLease},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &node, LeaseDurationSeconds: &seconds, RenewTime: &now},
		}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew the lease of node %s: %w", node, err)
	}
	return nil
}
