package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

const playground = "situ.gitops/examples/playground"

var kubernetesVersion = regexp.MustCompile(`k8s\.io/kubernetes (v\d+\.\d+\.\S+)`)

// source is the module the multi-call binary is compiled from.
type source struct {
	dir     string
	version string // of Kubernetes, such as v1.37.2
	hash    string // of everything that decides what is compiled
}

// key names the folder of a build: two sources with one key give one binary.
func (s source) key() string {
	return fmt.Sprintf("%s-%s-%s-%s", s.version, runtime.GOOS, runtime.GOARCH, s.hash[:12])
}

func findSource(ctx context.Context) (source, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", playground)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return source{}, fmt.Errorf("find the module %s, run this from its folder: %w: %s", playground, err, strings.TrimSpace(stderr.String()))
	}
	return readSource(filepath.Join(strings.TrimSpace(string(out)), "kube"))
}

func readSource(dir string) (source, error) {
	hash := sha256.New()
	var version string
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return source{}, fmt.Errorf("read the sources of Kubernetes: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
		if match := kubernetesVersion.FindSubmatch(content); name == "go.mod" && match != nil {
			version = string(match[1])
		}
	}
	if version == "" {
		return source{}, fmt.Errorf("%s requires no k8s.io/kubernetes", filepath.Join(dir, "go.mod"))
	}
	return source{dir: dir, version: version, hash: hex.EncodeToString(hash.Sum(nil))}, nil
}

// build compiles the multi-call binary to file.
func (s source) build(ctx context.Context, file string, log io.Writer) error {
	fmt.Fprintf(log, "Building Kubernetes %s and etcd from their Go modules, once for this machine.\n", s.version)
	fmt.Fprintf(log, "The first time takes about 7 minutes on two cores.\n")
	began := time.Now()
	progress := newProgress(log, s.countPackages(ctx))
	cmd := s.goCommand(ctx, "build", "-v", "-trimpath", "-ldflags", s.linkerFlags(), "-o", file, ".")
	cmd.Stderr = progress
	err := cmd.Run()
	progress.finish()
	if err != nil {
		return errors.Join(err, progress.complaint())
	}
	fmt.Fprintf(log, "Built in %s, kept in %s.\n", time.Since(began).Round(time.Second), filepath.Dir(filepath.Dir(file)))
	return nil
}

// linkerFlags set the version that the API server tells; kubectl cannot talk to
// a server that does not know its own.
func (s source) linkerFlags() string {
	numbers := strings.SplitN(strings.TrimPrefix(s.version, "v"), ".", 3)
	set := " -X k8s.io/component-base/version."
	return "-s -w" + set + "gitVersion=" + s.version + set + "gitMajor=" + numbers[0] + set + "gitMinor=" + numbers[1]
}

// countPackages is how many packages a build from nothing compiles; 0 if that
// cannot be told, which only makes the progress line shorter.
func (s source) countPackages(ctx context.Context) int {
	out, err := s.goCommand(ctx, "list", "-deps", ".").Output()
	if err != nil {
		return 0
	}
	return bytes.Count(out, []byte("\n"))
}

func (s source) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return cmd
}
