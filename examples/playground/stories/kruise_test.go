package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// TestWithOpenKruise tells stories of clusters that serve its kinds, or did. The
// kinds belong to a whole cluster, so one story is told after the other, and each
// begins without them.
func TestWithOpenKruise(t *testing.T) {
	g := onSimulatedNodes(t)
	files, err := filepath.Glob(filepath.Join("testdata", "kruise", "*.txtar"))
	check(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Cleanup(func() { check(t, g.removeKruise(context.WithoutCancel(t.Context()))) })
			params := tell(t.Context(), g)
			params.Files, params.Cmds["openkruise"] = []string{file}, openKruise
			testscript.Run(t, params)
		})
	}
}

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	kruiseKinds = map[string]schema.GroupVersionResource{
		"CloneSet":    {Group: "apps.kruise.io", Version: "v1beta1", Resource: "clonesets"},
		"StatefulSet": {Group: "apps.kruise.io", Version: "v1beta1", Resource: "statefulsets"},
		"DaemonSet":   {Group: "apps.kruise.io", Version: "v1beta1", Resource: "daemonsets"},
		"SidecarSet":  {Group: "apps.kruise.io", Version: "v1beta1", Resource: "sidecarsets"},
	}
)

func (g *ground) dynamic() (dynamic.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", g.cluster.Kubeconfig())
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

// installKruise makes the cluster serve the kinds, in as few words as possible.
func (g *ground) installKruise(ctx context.Context) error {
	client, err := g.dynamic()
	if err != nil {
		return err
	}
	for kind, at := range kruiseKinds {
		_, err := client.Resource(definitions).Create(ctx, &unstructured.Unstructured{Object: definition(kind, at)}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err := eventually(ctx, at.Resource+" to be served", func() (bool, error) {
			_, err := client.Resource(at).List(ctx, metav1.ListOptions{})
			return err == nil, err
		}); err != nil {
			return err
		}
	}
	return nil
}

func definition(kind string, at schema.GroupVersionResource) map[string]any {
	scope := "Namespaced"
	if kind == "SidecarSet" {
		scope = "Cluster"
	}
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": at.Resource + "." + at.Group},
		"spec": map[string]any{
			"group": at.Group, "scope": scope,
			"names": map[string]any{"kind": kind, "plural": at.Resource, "singular": strings.ToLower(kind)},
			"versions": []any{map[string]any{
				"name": at.Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": anything, "status": anything},
				}},
			}},
		},
	}
}

// removeKruise takes the kinds away, and waits until the cluster serves none.
func (g *ground) removeKruise(ctx context.Context) error {
	client, err := g.dynamic()
	if err != nil {
		return err
	}
	for _, at := range kruiseKinds {
		err := client.Resource(definitions).Delete(ctx, at.Resource+"."+at.Group, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err := eventually(ctx, at.Resource+" to be gone", func() (bool, error) {
			_, err := client.Resource(at).List(ctx, metav1.ListOptions{})
			return apierrors.IsNotFound(err), err
		}); err != nil {
			return err
		}
	}
	return nil
}

// openKruise plays OpenKruise.
//
//	install   the cluster serves its kinds
//	start     its controllers look after the story's namespace, until stop
//	remove    the cluster serves its kinds no longer
func openKruise(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "openkruise install | start | stop | remove"
	expect(ts, !neg && len(args) == 1, usage)
	s := of(ts)
	switch args[0] {
	case "install":
		ts.Check(s.installKruise(s.ctx))
	case "remove":
		ts.Check(s.removeKruise(s.ctx))
	case "start":
		client, err := s.dynamic()
		ts.Check(err)
		s.kruise = startKruise(s, client)
		ts.Defer(s.kruise.stop)
	case "stop":
		s.kruise.stop()
	default:
		expect(ts, false, usage)
	}
}

// standIn does what OpenKruise's controllers do, as far as stories need it: it
// makes pods, patches images in place, replaces pods for any other change, and
// tells how far it is.
type standIn struct {
	*story
	client dynamic.Interface
	end    context.CancelFunc
	done   sync.WaitGroup
	serial int
}

func startKruise(s *story, client dynamic.Interface) *standIn {
	ctx, end := context.WithCancel(s.ctx)
	k := &standIn{story: s, client: client, end: end}
	k.done.Go(func() {
		for ctx.Err() == nil {
			for _, kind := range []string{"CloneSet", "StatefulSet", "DaemonSet"} {
				k.reconcileAll(ctx, kind)
			}
			select {
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	})
	return k
}

func (k *standIn) stop() {
	k.end()
	k.done.Wait()
}

// reconcileAll leaves what did not work to the next time.
func (k *standIn) reconcileAll(ctx context.Context, kind string) {
	list, err := k.client.Resource(kruiseKinds[kind]).Namespace(k.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		if list.Items[i].GetDeletionTimestamp() == nil {
			_ = k.reconcile(ctx, &list.Items[i])
		}
	}
}

// hashOf names a template.
func hashOf(template any) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic("a template that came from JSON is JSON: " + err.Error())
	}
	hash := fnv.New32a()
	hash.Write(text)
	return fmt.Sprintf("%x", hash.Sum32())
}
