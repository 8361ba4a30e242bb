package binaries

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressIsALineNowAndThenThatCountsWhatWasCompiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		progress := newProgress(&out, 100)
		for i := range 60 {
			time.Sleep(time.Second)
			fmt.Fprintf(progress, "k8s.io/package%d\n", i)
		}
		progress.finish()
		want := "  20s  20 of at most 100 packages  k8s.io/package19\n" +
			"  40s  40 of at most 100 packages  k8s.io/package39\n" +
			"  1m0s  60 of at most 100 packages  k8s.io/package59\n"
		if out.String() != want {
			t.Errorf("progress =\n%swant\n%s", out.String(), want)
		}
		if err := progress.complaint(); err != nil {
			t.Errorf("complaint = %v, want none", err)
		}
	})
}

func TestWhatTheCompilerComplainsAboutIsTold(t *testing.T) {
	progress := newProgress(&bytes.Buffer{}, 2)
	fmt.Fprint(progress, "go: downloading k8s.io/api v0.37.2\nk8s.io/api\n# some/package\nmain.go:3:4: undef")
	fmt.Fprint(progress, "ined: x\n")
	err := progress.complaint()
	if err == nil || err.Error() != "# some/package\nmain.go:3:4: undefined: x" {
		t.Errorf("complaint = %q, want the compiler's two lines", err)
	}
}

func TestTheKeyChangesWithEveryFileThatDecidesTheBuild(t *testing.T) {
	keys := map[string]string{}
	for _, tt := range []struct{ name, version, main, sum string }{
		{"the first", "v1.37.2", "package main", "a"},
		{"another Kubernetes", "v1.37.3", "package main", "a"},
		{"another program", "v1.37.2", "package main // 2", "a"},
		{"other dependencies", "v1.37.2", "package main", "b"},
	} {
		dir := t.TempDir()
		write(t, dir, "go.mod", "module kube\n\nrequire k8s.io/kubernetes "+tt.version+"\n")
		write(t, dir, "go.sum", tt.sum)
		write(t, dir, "main.go", tt.main)
		src, err := readSource(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(src.key(), tt.version+"-") {
			t.Errorf("key of %s = %q, want it to begin with the version", tt.name, src.key())
		}
		if other, taken := keys[src.key()]; taken {
			t.Errorf("%s and %s have the key %s", tt.name, other, src.key())
		}
		keys[src.key()] = tt.name
	}
}
