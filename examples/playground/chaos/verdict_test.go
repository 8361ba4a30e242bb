package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"situ.gitops/applier"
	"situ.gitops/examples/playground/nodes"
	"situ.gitops/planner"
)

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
	if s.script.kind == "Pod" {
		return nil
	}
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

// quiet wants a settled source to cost nothing: from one look at Git to a later
// one, no request is sent and nothing is written to Git. What others still have
// to report may come in between, so a few times are free.
func (s *stage) quiet() error {
	const tries, looks = 5, 3
	for range tries {
		polls, pushes := s.gitDoor.counts()
		requests, _ := s.ledger.counts()
		if err := s.eventually("situ to look at Git", func() error {
			if now, _ := s.gitDoor.counts(); now < polls+looks {
				return fmt.Errorf("it has looked %d times", now-polls)
			}
			return nil
		}); err != nil {
			return err
		}
		_, pushesNow := s.gitDoor.counts()
		if requestsNow, _ := s.ledger.counts(); requestsNow == requests && pushesNow == pushes {
			return nil
		}
	}
	return fmt.Errorf("promise 5: the settled source sent requests, or wrote to Git, %d times in a row", tries)
}

// noted wants the note of the last commit, and a note for each commit that the
// last life has taken up: nothing has cut it off.
func (s *stage) noted() error {
	owed := append(s.judge.takenUp(), s.commits[len(s.commits)-1])
	for _, commit := range owed {
		if _, err := s.note(commit); err != nil {
			return fmt.Errorf("promise 8: commit %.8s has no note: %w", commit, err)
		}
	}
	return nil
}
