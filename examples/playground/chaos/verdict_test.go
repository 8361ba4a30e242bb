package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"situ.gitops/applier"
	"situ.gitops/examples/playground/nodes"
	"situ.gitops/planner"
)

// play runs the script from the first commit to the verdict.
func (s *stage) play() error {
	if err := s.live(fault{}); err != nil {
		return err
	}
	if err := s.commit(s.wish(), "first"); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return err
	}
	for _, step := range s.script.steps {
		_, before := s.ledger.counts()
		if err := s.act(step); err != nil {
			return fmt.Errorf("step %s: %w", step, err)
		}
		s.wait(func() bool {
			_, now := s.ledger.counts()
			return now-before >= step.pace || s.hasEnded()
		})
	}
	return s.end()
}

// wait waits for something that need not come.
func (s *stage) wait(done func() bool) {
	ctx, cancel := context.WithTimeout(s.ctx, stepTime)
	defer cancel()
	for !done() && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

// settle lets everything come to rest: the newest commit has ended well and all
// its pods serve. From then on the judge excuses nothing. A commit that cannot
// end well only ends.
func (s *stage) settle() error {
	if !s.wish().starts() || len(s.lost) > 0 {
		s.wait(s.hasEnded)
		return nil
	}
	return s.eventually("rest", func() error {
		if err := s.reached(); err != nil {
			return err
		}
		if !s.judge.calm() {
			return errors.New("pods are missing, not ready or too many")
		}
		return nil
	})
}

// end makes everything whole, commits a last wish that can be fulfilled, and
// wants all promises kept.
func (s *stage) end() error {
	if err := s.bringBack(); err != nil {
		return err
	}
	s.nodes.SetDelay(nodes.Delay{})
	s.life.door.plan(func(f *fault, _ int) { *f = fault{} })
	last := s.wish()
	last.app, last.side, last.tier, last.partition = "last", "last", "last", 0
	if err := s.commit(last, "last"); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return errors.Join(fmt.Errorf("promise 7: %w", err))
	}
	if err := s.eventually("the end of the pods that pull", s.noPulls); err != nil {
		return err
	}
	s.life.stop()
	return errors.Join(s.quiet(), s.noted(), s.unharmed())
}

// hasEnded says whether the newest commit has its note.
func (s *stage) hasEnded() bool {
	_, err := s.note(s.commits[len(s.commits)-1])
	return err == nil
}

// note reads the note of a commit with git, again only when the notes have changed.
func (s *stage) note(commit string) (applier.Note, error) {
	tip, err := os.ReadFile(filepath.Join(s.repository.Bare, "refs/notes/situ", clusterName))
	if err != nil {
		return applier.Note{}, err
	}
	if now := string(tip) + commit; s.lastNote.of != now {
		text, err := s.repository.Git(s.ctx, "--git-dir="+s.repository.Bare, "notes", "--ref=refs/notes/situ/"+clusterName, "show", commit)
		s.lastNote = noteRead{of: now, text: []byte(text), err: err}
	}
	if s.lastNote.err != nil {
		return applier.Note{}, s.lastNote.err
	}
	return applier.ParseNote(s.lastNote.text)
}

// noteRead is a note as it was read last.
type noteRead struct {
	of   string
	text []byte
	err  error
}

// reached says what the newest commit's wish still lacks.
func (s *stage) reached() error {
	note, err := s.note(s.commits[len(s.commits)-1])
	if err != nil {
		return err
	}
	want := planner.Settled
	if s.wish().partition > 0 {
		want = planner.Held
	}
	if note.State != want && note.State != planner.Settled {
		return fmt.Errorf("the note of the newest commit says %s", note.State)
	}
	if err := s.hostAtRest(); err != nil {
		return err
	}
	pods, err := s.pods()
	if err != nil {
		return err
	}
	if len(pods) != s.wish().desired() {
		return fmt.Errorf("there are %d pods, want %d", len(pods), s.wish().desired())
	}
	if s.wish().partition > 0 {
		return nil
	}
	for i := range pods {
		if err := s.wish().fulfilledBy(&pods[i]); err != nil {
			return fmt.Errorf("pod %s: %w", pods[i].Name, err)
		}
	}
	return nil
}

// fulfilledBy says what a pod lacks of a wish.
func (w wish) fulfilledBy(pod *corev1.Pod) error {
	app := pod.Spec.Containers[0]
	for _, has := range []struct{ what, got, want string }{
		{"label tier", pod.Labels["tier"], w.tier},
		{"annotation note", pod.Annotations["note"], w.note},
		{"annotation config", pod.Annotations["config"], w.config},
		{"env FLAG", app.Env[0].Value, w.flag},
		{"cpu", app.Resources.Requests.Cpu().String(), fmt.Sprintf("%dm", w.cpu)},
	} {
		if has.got != has.want {
			return fmt.Errorf("its %s is %q, want %q", has.what, has.got, has.want)
		}
	}
	for _, container := range pod.Spec.Containers {
		image := w.images()[container.Name]
		status := statusOf(pod, container.Name)
		if status == nil || status.ImageID != nodes.ImageID(image) || status.State.Running == nil {
			return fmt.Errorf("container %s is %+v, want it to run %s", container.Name, status, image)
		}
	}
	if !serves(pod) {
		return errors.New("it does not serve")
	}
	return nil
}

func (s *stage) host() (*unstructured.Unstructured, error) {
	resource := strings.ToLower(s.script.kind) + "s"
	text, err := s.client().AppsV1().RESTClient().Get().Namespace(s.namespace).Resource(resource).Name("web").
		SetHeader("Accept", "application/json").Do(s.ctx).Raw()
	if err != nil {
		return nil, err
	}
	host := &unstructured.Unstructured{}
	return host, host.UnmarshalJSON(text)
}

// hostAtRest says what situ has left on the host.
func (s *stage) hostAtRest() error {
	host, err := s.host()
	if err != nil {
		return err
	}
	if s.wish().partition > 0 {
		return nil
	}
	if rollout := host.GetAnnotations()[planner.AnnotationRollout]; rollout != "" {
		return fmt.Errorf("the %s still has the annotation %s", s.script.kind, planner.AnnotationRollout)
	}
	paused, _, _ := unstructured.NestedBool(host.Object, "spec", "paused")
	strategy, _, _ := unstructured.NestedString(host.Object, "spec", "updateStrategy", "type")
	partition, _, _ := unstructured.NestedInt64(host.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	if paused || strategy == "OnDelete" || partition != 0 {
		return fmt.Errorf("the %s is held: paused %t, strategy %q, partition %d", s.script.kind, paused, strategy, partition)
	}
	return nil
}

func (s *stage) noPulls() error {
	list, err := s.client().CoreV1().Pods(s.namespace).List(s.ctx, metav1.ListOptions{LabelSelector: planner.LabelPull})
	if err == nil && len(list.Items) > 0 {
		return fmt.Errorf("%d are left", len(list.Items))
	}
	return err
}

// quiet wants a settled commit to cost nothing: settled once more, it sends no
// request and writes nothing to Git. What others still have to report may come
// in between, so a few times are free.
func (s *stage) quiet() error {
	if s.life.applier == nil {
		return nil
	}
	head, err := s.life.source.Poll(s.ctx)
	if err != nil {
		return err
	}
	rev, err := s.life.source.Read(s.ctx, head)
	if err != nil {
		return err
	}
	const tries = 5
	for range tries {
		before, _ := s.ledger.counts()
		note, err := s.life.applier.Settle(s.ctx, rev.Commit, func(applier.Outcome) {})
		if err != nil || note.State != planner.Settled {
			return fmt.Errorf("promise 5: settled once more, the commit is %s: %w", note.State, err)
		}
		if after, _ := s.ledger.counts(); after == before {
			return nil
		}
	}
	return fmt.Errorf("promise 5: the settled commit sent requests %d times in a row", tries)
}

// noted wants the note of the last commit, and a note for each commit that this
// life has taken up.
func (s *stage) noted() error {
	for _, commit := range s.owed() {
		if _, err := s.note(commit); err != nil {
			return fmt.Errorf("promise 8: commit %.8s has no note: %w", commit, err)
		}
	}
	return nil
}

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

// owed are the commits that have to have a note: the last one.
func (s *stage) owed() []string { return s.commits[len(s.commits)-1:] }
