package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"situ.gitops/examples/playground/gitserver"
	"situ.gitops/examples/playground/nodes"
)

const (
	nodesPerStage = 3
	poll          = 20 * time.Millisecond
)

// stage is what one script runs on. Nothing of it is shared with other stages
// but the control plane.
type stage struct {
	*options
	ctx        context.Context
	dir        string
	namespace  string
	script     script
	nodes      *nodes.Simulator
	git        *gitserver.Server
	repository *gitserver.Repository
	gitDoor    *gitDoor
	ledger     *ledger
	log        *journal
	judge      *judge
	watcher    *watchtools.RetryWatcher
	watching   sync.WaitGroup
	life       *life
	wishes     []wish   // of the commits, in their order
	commits    []string // their hashes
	bystanders map[string]string
	lost       map[string]bool // nodes that are silent
	lastNote   noteRead
}

// newStage sets a stage up. The caller closes it, whatever the error.
func newStage(ctx context.Context, options *options, script script) (*stage, error) {
	s := &stage{options: options, ctx: ctx, script: script, ledger: &ledger{}, log: &journal{}, lost: map[string]bool{}}
	s.wishes = []wish{firstWish(script.kind, script.manner)}
	s.judge = newJudge(s.ledger, s.wishes[0], script.program)
	for _, set := range []func() error{s.openNamespace, s.startNodes, s.openRepository, s.watch, s.plant} {
		if err := set(); err != nil {
			return s, fmt.Errorf("set the stage: %w", err)
		}
	}
	return s, nil
}

func (s *stage) client() kubernetes.Interface { return s.cluster.Client() }

func (s *stage) openNamespace() error {
	created, err := s.client().CoreV1().Namespaces().Create(s.ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: fmt.Sprintf("chaos-%d-", s.script.seed)}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	s.namespace = created.Name
	return s.eventually("the default service account", func() error {
		_, err := s.client().CoreV1().ServiceAccounts(s.namespace).Get(s.ctx, "default", metav1.GetOptions{})
		return err
	})
}

func (s *stage) startNodes() (err error) {
	s.nodes, err = nodes.Start(s.ctx, s.cluster.Config(), nodes.Options{Count: nodesPerStage, Prefix: s.namespace + "-"})
	return err
}

func (s *stage) openRepository() (err error) {
	if s.dir, err = os.MkdirTemp("", "chaos-stage-"); err != nil {
		return err
	}
	repositories := filepath.Join(s.dir, "git")
	if err := os.MkdirAll(repositories, 0o755); err != nil {
		return err
	}
	if s.git, err = gitserver.Start(repositories); err != nil {
		return err
	}
	if s.repository, err = s.git.Create(s.ctx, "shop", ""); err != nil {
		return err
	}
	s.gitDoor, err = newGitDoor(s.git.URL())
	return err
}

// watch shows every event of the namespace's pods to the judge.
func (s *stage) watch() error {
	pods := s.client().CoreV1().Pods(s.namespace)
	list, err := pods.List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	source := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return pods.Watch(ctx, options)
	}}
	if s.watcher, err = watchtools.NewRetryWatcherWithContext(s.ctx, list.ResourceVersion, source); err != nil {
		return err
	}
	s.judge.owns = s.mayBeDeleted
	s.watching.Go(func() {
		for event := range s.watcher.ResultChan() {
			s.judge.event(event)
		}
	})
	return nil
}

// close takes the stage down: first the life, last what it stood on.
func (s *stage) close(ctx context.Context) error {
	var errs []error
	if s.life != nil {
		errs = append(errs, s.life.kill())
	}
	if s.watcher != nil {
		s.watcher.Stop()
		s.watching.Wait()
	}
	if s.gitDoor != nil {
		s.gitDoor.close()
	}
	if s.git != nil {
		s.git.Close()
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	if s.namespace != "" {
		errs = append(errs, s.client().CoreV1().Namespaces().Delete(ctx, s.namespace, metav1.DeleteOptions{}))
	}
	if s.nodes != nil {
		errs = append(errs, s.removeNodes(ctx))
	}
	return errors.Join(errs...)
}

// removeNodes waits for the last pods, which only their nodes can end.
func (s *stage) removeNodes(ctx context.Context) error {
	for name := range s.lost {
		if err := s.nodes.StartNode(ctx, name); err != nil {
			return err
		}
	}
	s.nodes.SetDelay(nodes.Delay{})
	err := eventually(ctx, s.patience, "the end of the pods of "+s.namespace, func() error {
		left, err := s.client().CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d are left", len(left.Items))
		}
		return err
	})
	s.nodes.Stop()
	errs := []error{err}
	for _, name := range s.nodes.Names() {
		errs = append(errs, s.client().CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
	}
	return errors.Join(errs...)
}

func (s *stage) eventually(what string, done func() error) error {
	return eventually(s.ctx, s.patience, what, done)
}

// eventually waits until done has no error any more.
func eventually(ctx context.Context, patience time.Duration, what string, done func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("waited %s for %s", patience, what))
	defer cancel()
	for {
		err := done()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(poll):
		}
	}
}

// journal keeps what the lives have logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// lines are the last ones.
func (j *journal) lines(n int) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := strings.Split(j.text.String(), "\n")
	return all[max(0, len(all)-n):]
}

// write is shown every write of situ before it is done.
func (j *judge) write(r *http.Request) {
	if r.Method != http.MethodDelete {
		return
	}
	if err := j.owns(r.URL.Path); err != nil {
		j.accuse("promise 6: %s is deleted: %v", r.URL.Path, err)
	}
}
