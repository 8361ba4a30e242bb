package cluster_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/examples/playground/cluster"
)

func TestAPodRunsAsSoonAsTheClusterHasStarted(t *testing.T) {
	created, err := shared.Client().CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "first-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "shop/web:v1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		pod, err := shared.Client().CoreV1().Pods("default").Get(t.Context(), created.Name, metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("the pod is %s on node %q", pod.Status.Phase, pod.Spec.NodeName)
		}
		return err
	})
}

func TestAUserHasTheRightsThatHeIsGivenAndNoOthers(t *testing.T) {
	kubeconfig, err := shared.AddUser("viewer")
	if err != nil {
		t.Fatal(err)
	}
	viewer, err := cluster.Existing(t.Context(), kubeconfig, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = viewer.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Fatalf("a user without rights lists pods: %v, want it forbidden", err)
	}
	_, err = shared.Client().RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "viewer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "viewer"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := viewer.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err
	})
}

func TestControllersWorkAfterTheyWereRestarted(t *testing.T) {
	if err := shared.RestartControllerManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := shared.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "after-restart"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := shared.Client().CoreV1().ServiceAccounts("after-restart").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
}

func TestStopLeavesNoProcessAndNoFolder(t *testing.T) {
	c, err := cluster.Start(t.Context(), cluster.Options{Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(processesIn(t, c.Dir())); n != 4 {
		t.Errorf("a cluster is %d processes, want 4", n)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if left := processesIn(t, c.Dir()); len(left) > 0 {
		t.Errorf("after Stop there are the processes %v", left)
	}
	if _, err := os.Stat(c.Dir()); !os.IsNotExist(err) {
		t.Errorf("after Stop the folder %s is there: %v", c.Dir(), err)
	}
}

// The test program starts itself as the parent; see TestMain.
func TestAKilledParentLeavesNoProcess(t *testing.T) {
	dir := t.TempDir()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentOf+"="+dir)
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := output.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the parent never said that its cluster runs: %v", err)
	}
	if n := len(processesIn(t, dir)); n != 4 {
		t.Errorf("the parent's cluster is %d processes, want 4", n)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed, and says so
	eventually(t, func() error {
		if left := processesIn(t, dir); len(left) > 0 {
			return fmt.Errorf("the processes %v outlive their parent", left)
		}
		return nil
	})
}

// processesIn are the ids of the processes that were started with something in
// the folder, which every process of a cluster is.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, line := range lines {
		content, err := os.ReadFile(line)
		if err == nil && bytes.Contains(content, []byte(dir)) {
			found = append(found, strings.Split(line, "/")[2])
		}
	}
	return found
}

func eventually(t *testing.T, wanted func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := wanted()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 30s still: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
