package binaries

import (
	"os/exec"
	"strings"
	"testing"
)

func TestEveryProgramIsTheOneItIsNamed(t *testing.T) {
	folder, err := Ensure(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{
		"etcd":                    "etcd Version: 3.",
		"kube-apiserver":          "Kubernetes v1.",
		"kube-controller-manager": "Kubernetes v1.",
		"kube-scheduler":          "Kubernetes v1.",
		"kubelet":                 "Kubernetes v1.",
	}
	for _, program := range programs {
		out, err := exec.CommandContext(t.Context(), folder.Path(program), "--version").CombinedOutput()
		if err != nil {
			t.Errorf("%s --version: %v: %s", program, err, out)
		}
		if !strings.Contains(string(out), versions[program]) {
			t.Errorf("%s --version = %q, want %q", program, out, versions[program])
		}
	}
}
