package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/registry"
)

// patience is for what a loaded machine does at last.
const patience = 90 * time.Second

func TestServeFollowsThePersonsOwnPush(t *testing.T) {
	c, err := cluster.Start(t.Context(), cluster.Options{Nodes: 2, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	out := &buffer{}
	d, err := Open(t.Context(), Options{Cluster: c, Dir: t.TempDir(), Registry: registry.Name, Simulated: true, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stayed := make(chan error, 1)
	go func() { stayed <- d.Stay(ctx) }()
	defer func() { t.Logf("%s", out) }()

	eventually(t, "the invitation", func() error { return out.has("Ctrl-C ends this one") })
	eventually(t, "the shop", func() error { return out.has("replicaset/worker in shop: 2/2 pods, settled") })
	invited := regexp.MustCompile(`(?m)^\$ (cd .*|sed .*|git commit .*)$`).FindAllStringSubmatch(out.String(), -1)
	if len(invited) != 3 {
		t.Fatalf("the invitation has %d commands to push a commit, want 3", len(invited))
	}
	// Literally what the person is told to do, without any git configuration.
	push := exec.CommandContext(t.Context(), "sh", "-ec", invited[0][1]+"\n"+invited[1][1]+"\n"+invited[2][1])
	push.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if said, err := push.CombinedOutput(); err != nil {
		t.Fatalf("push: %v: %s", err, said)
	}
	eventually(t, "the pushed image in the pods", func() error {
		pods, err := d.pods(t.Context(), "worker")
		for _, pod := range pods {
			if image := pod.Status.ContainerStatuses[0].Image; image != registry.Name+"/app:v3" {
				err = errors.Join(err, fmt.Errorf("pod %s runs %s", pod.Name, image))
			}
		}
		return err
	})
	eventually(t, "the note on the person's commit", func() error {
		if _, err := d.repository.Git(t.Context(), "fetch"); err != nil {
			return err
		}
		log, err := d.repository.Git(t.Context(), "log", "-1")
		if err == nil && !(strings.Contains(log, "worker: app v3") && strings.Contains(log, "state: settled")) {
			err = fmt.Errorf("git log shows %s", log)
		}
		return err
	})

	page := regexp.MustCompile(`http://127\.0\.0\.1:\d+$`).FindString(strings.Fields(out.String()[strings.Index(out.String(), "status page: ")+len("status page: "):])[0])
	stop()
	if err := <-stayed; err != nil {
		t.Errorf("Stay, when it was ended = %v", err)
	}
	if response, err := http.Get(page); err == nil {
		response.Body.Close()
		t.Errorf("situ serve still answers at %s", page)
	}
}

func eventually(t *testing.T, what string, done func() error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		err := done()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s: %v", patience, what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// buffer may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *buffer) has(text string) error {
	if !strings.Contains(b.String(), text) {
		return fmt.Errorf("%q is not there", text)
	}
	return nil
}
