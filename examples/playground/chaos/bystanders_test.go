package chaos

import (
	"errors"
	"fmt"
	"path"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"situ.gitops/planner"
)

// plant puts objects there that are none of situ's business.
func (s *stage) plant() error {
	s.bystanders = map[string]string{}
	core, apps := s.client().CoreV1(), s.client().AppsV1()
	meta := metav1.ObjectMeta{Name: "bystander", Labels: map[string]string{"tier": "t0"}}
	config, err := core.ConfigMaps(s.namespace).Create(s.ctx, &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	s.bystanders["configmaps"] = string(config.UID)
	revision, err := apps.ControllerRevisions(s.namespace).Create(s.ctx, newRevision(meta), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	s.bystanders["controllerrevisions"] = string(revision.UID)
	return nil
}

// unharmed wants the bystanders to be who they were.
func (s *stage) unharmed() error {
	config, err := s.client().CoreV1().ConfigMaps(s.namespace).Get(s.ctx, "bystander", metav1.GetOptions{})
	if err != nil || string(config.UID) != s.bystanders["configmaps"] {
		return fmt.Errorf("promise 6: the bystanding ConfigMap is not what it was: %w", err)
	}
	revision, err := s.client().AppsV1().ControllerRevisions(s.namespace).Get(s.ctx, "bystander", metav1.GetOptions{})
	if err != nil || string(revision.UID) != s.bystanders["controllerrevisions"] {
		return fmt.Errorf("promise 6: the bystanding ControllerRevision is not what it was: %w", err)
	}
	return nil
}

// mayBeDeleted says why situ may not delete the object at a path of the API.
func (s *stage) mayBeDeleted(at string) error {
	name := path.Base(at)
	switch path.Base(path.Dir(at)) {
	case "pods":
		pod, err := s.client().CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
		if err != nil || pod.Labels["app"] == "web" || pod.Labels[planner.LabelPull] != "" {
			return ignoreGone(err)
		}
		return errors.New("it is no pod of the workload")
	case "controllerrevisions":
		revision, err := s.client().AppsV1().ControllerRevisions(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
		if err != nil || s.ownedByHost(revision.OwnerReferences) {
			return ignoreGone(err)
		}
		return errors.New("it is no record of the workload")
	case "replicasets":
		set, err := s.client().AppsV1().ReplicaSets(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
		if err != nil || s.ownedByHost(set.OwnerReferences) && set.Status.Replicas == 0 {
			return ignoreGone(err)
		}
		return errors.New("it has pods, or another owner")
	}
	return errors.New("situ has no business with it")
}

func (s *stage) ownedByHost(owners []metav1.OwnerReference) bool {
	return slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool {
		return owner.Kind == s.script.kind && owner.Name == "web"
	})
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func newRevision(meta metav1.ObjectMeta) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: meta, Revision: 1, Data: runtime.RawExtension{Raw: []byte(`{}`)}}
}
