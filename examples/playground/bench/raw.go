package bench

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// writers is how many patches are under way at the same time. situ has as many.
const writers = 16

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// rawResult is what the API server can do at most.
type rawResult struct {
	pods    int
	written time.Duration // until the last patch was answered
	running time.Duration // until every pod ran the image and was ready
}

// raw gives every pod another image, without any thought, as fast as it goes: like
// situ it asks for no more than the metadata of the patched pod.
func raw(ctx context.Context, client metadata.Interface, o *observer, namespace, image string) (rawResult, error) {
	pods := o.pods()
	at := o.expect(len(pods), image)
	patch := fmt.Appendf(nil, `{"spec":{"containers":[{"name":"app","image":%q}]}}`, image)
	began := time.Now()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, name := range pods {
		group.Go(func() error {
			_, err := client.Resource(podResource).Namespace(namespace).Patch(within, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return rawResult{}, fmt.Errorf("patch the pods of %s: %w", namespace, err)
	}
	result := rawResult{pods: len(pods), written: time.Since(began)}
	moment, err := o.await(ctx, at)
	result.running = moment.Sub(began)
	return result, err
}
