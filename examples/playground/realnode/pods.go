package realnode

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// removals is how many pods are removed at the same time.
const removals = 8

// runtimeReady is an error until containerd can run pods and connect them.
func runtimeReady(ctx context.Context, socket string) error {
	connection, err := dial(socket)
	if err != nil {
		return err
	}
	defer connection.Close()
	answer, err := runtimeapi.NewRuntimeServiceClient(connection).Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return err
	}
	for _, condition := range answer.GetStatus().GetConditions() {
		if !condition.GetStatus() {
			return fmt.Errorf("%s: %s", condition.GetType(), condition.GetMessage())
		}
	}
	return nil
}

// removePods ends every pod containerd runs and gives its network back.
func removePods(ctx context.Context, socket string) error {
	connection, err := dial(socket)
	if err != nil {
		return err
	}
	defer connection.Close()
	client := runtimeapi.NewRuntimeServiceClient(connection)
	list, err := client.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}

	errs := make([]error, len(list.GetItems()))
	slots := make(chan struct{}, removals)
	var all sync.WaitGroup
	for i, pod := range list.GetItems() {
		slots <- struct{}{}
		all.Go(func() {
			errs[i] = removePod(ctx, client, pod)
			<-slots
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func removePod(ctx context.Context, client runtimeapi.RuntimeServiceClient, pod *runtimeapi.PodSandbox) error {
	name := pod.GetMetadata().GetNamespace() + "/" + pod.GetMetadata().GetName()
	if _, err := client.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod.GetId()}); err != nil {
		return fmt.Errorf("stop pod %s: %w", name, err)
	}
	if _, err := client.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod.GetId()}); err != nil {
		return fmt.Errorf("remove pod %s: %w", name, err)
	}
	return nil
}

func dial(socket string) (*grpc.ClientConn, error) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connect to containerd: %w", err)
	}
	return connection, nil
}
