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
	for _, program := range programs {
		flag := "--version"
		if program == "kubelet" {
			flag = "--version=true"
		}
		out, err := exec.CommandContext(t.Context(), folder.Path(program), flag).CombinedOutput()
		if err != nil {
			t.Errorf("%s %s: %v: %s", program, flag, err, out)
		}
		want := "Kubernetes v1."
		if program == "etcd" {
			want = "etcd Version: 3."
		}
		if !strings.Contains(string(out), want) {
			t.Errorf("%s %s = %q, want it to contain %q", program, flag, out, want)
		}
	}
}
