package stories

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain puts situ and kubectl on the PATH, and runs many tests side by side:
// stories wait far more than they work.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if err := manyAtOnce(); err != nil {
		return complain(err)
	}
	bin, err := os.MkdirTemp("", "stories-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(bin)
	if err := buildPrograms(bin); err != nil {
		return complain(err)
	}
	os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// manyAtOnce raises the number of parallel tests, unless somebody chose one.
func manyAtOnce() error {
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if chosen {
		return nil
	}
	return flag.Set("test.parallel", "8")
}

// buildPrograms builds situ out of its own module and with the race detector: a
// race ends it with an exit code that no story expects.
func buildPrograms(bin string) error {
	situ := exec.Command("go", "build", "-race", "-o", filepath.Join(bin, "situ"), "./cmd/situ")
	situ.Dir = filepath.Join("..", "..", "..")
	kubectl := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(bin, "kubectl"), "./kubectl")
	kubectl.Env = append(os.Environ(), "CGO_ENABLED=0") // as Kubernetes itself is built, so that most is compiled already
	for _, build := range []*exec.Cmd{situ, kubectl} {
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", build, err, out)
		}
	}
	return nil
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
