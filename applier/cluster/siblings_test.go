package cluster

import (
	"reflect"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podNamed(name string) *corev1.Pod {
	token := "kube-api-access-" + name
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: "app:v1", Env: []corev1.EnvVar{{Name: "A", Value: "1"}},
				VolumeMounts: []corev1.VolumeMount{{Name: token, MountPath: "/token"}}}},
			Volumes: []corev1.Volume{{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Message: name}}},
	}
}

func TestPodsOfOneControllerShareWhatIsEqualAndNothingElse(t *testing.T) {
	first, second := podNamed("a"), podNamed("b")
	second.Spec.Containers[0].Image = "app:v2"
	related := &siblings{}
	related.join(first)
	related.join(second)
	want := podNamed("b")
	want.Spec.Containers[0].Image = "app:v2"
	if !reflect.DeepEqual(second, want) || !reflect.DeepEqual(first, podNamed("a")) {
		t.Errorf("sharing changed a pod:\n%+v\n%+v", first, second)
	}
	if unsafe.SliceData(first.Spec.Containers[0].Env) != unsafe.SliceData(second.Spec.Containers[0].Env) {
		t.Error("equal env is in memory twice")
	}
	if first.Spec.Volumes[0].Projected != second.Spec.Volumes[0].Projected {
		t.Error("equal volumes are in memory twice")
	}
}
