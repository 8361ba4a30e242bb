package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"situ.gitops/examples/playground/nodes"
)

// stepTime bounds how long a script waits before it goes on, whatever has become
// of the last step: then it did not hit where it was meant to.
const stepTime = 15 * time.Second

// act does one step.
func (s *stage) act(step step) error {
	s.ledger.tell("step %s", step)
	if edit, ok := commits[step.act]; ok {
		w := s.wish()
		edit(&w, step)
		return s.commit(w, step.String())
	}
	switch step.act {
	case "revert":
		w := s.wishes[max(0, len(s.wishes)-1-step.n)]
		if w.free = w.free && s.wish().free; w.free {
			w.replicas = s.wish().replicas
		}
		return s.commit(w, step.String())
	case "free":
		return s.free(step)
	case "kill":
		return s.rebirth()
	case "kill-before", "kill-after":
		return s.killAt(step)
	case "delete-pod":
		return s.deletePod(step.n)
	case "scale":
		return s.scale(step.n)
	case "silence", "lose", "return":
		return s.node(step)
	case "refuse", "conflict", "lose-answer":
		s.fault(step)
	case "git-out":
		s.gitDoor.plan(step.n)
	case "touch":
		return s.touch(step)
	case "slow":
		s.nodes.SetDelay(nodes.Delay{Start: time.Duration(step.n) * 200 * time.Millisecond, Ready: time.Duration(step.n) * 200 * time.Millisecond})
	case "quick":
		s.nodes.SetDelay(nodes.Delay{})
	case "settle":
		return s.settle()
	}
	return nil
}

func (s *stage) wish() wish { return s.wishes[len(s.wishes)-1] }

// commit commits a wish. The judge knows of it first.
func (s *stage) commit(w wish, message string) error {
	before := s.wish()
	s.judge.change(func(j *judge) {
		j.wish = w
		j.upset = j.upset || w.replicas != before.replicas
		j.leaving = j.leaving || w.replicas != before.replicas
		j.renewing = j.renewing || w.flag != before.flag || w.config != before.config
	})
	hash, err := s.repository.Commit(s.ctx, message, map[string]string{"web.yaml": w.manifest(s.nodes.Names())})
	if err != nil {
		return err
	}
	s.wishes, s.commits = append(s.wishes, w), append(s.commits, hash)
	s.ledger.tell("commit %.8s: %+v", hash, w)
	return nil
}

// free has Git leave the replicas to others, once it is sure what they are.
func (s *stage) free(step step) error {
	if !s.scales() || !s.canRest() {
		return nil
	}
	if err := s.settle(); err != nil {
		return err
	}
	w := s.wish()
	w.free = true
	return s.commit(w, step.String())
}

// rebirth kills situ, if it still lives, and starts another.
func (s *stage) rebirth() error {
	if err := s.life.kill(); err != nil {
		return err
	}
	return s.live(fault{})
}

// killAt kills situ at one of its next writes, or when none comes.
func (s *stage) killAt(step step) error {
	door := s.life.door
	door.plan(func(f *fault, writes int) { f.killAt, f.after = writes+step.n, step.act == "kill-after" })
	s.wait(func() bool { return door.isDead() || s.hasEnded() })
	return s.rebirth()
}

func (s *stage) fault(step step) {
	s.life.door.plan(func(f *fault, _ int) {
		switch step.act {
		case "refuse":
			f.refuse = step.n
		case "conflict":
			f.conflict = step.n
		default:
			f.swallow = step.n
		}
	})
}

// pods are the workload's, by name.
func (s *stage) pods() ([]corev1.Pod, error) {
	list, err := s.client().CoreV1().Pods(s.namespace).List(s.ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func (s *stage) pod(n int) (*corev1.Pod, error) {
	pods, err := s.pods()
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	return &pods[n%len(pods)], nil
}

func (s *stage) deletePod(n int) error {
	pod, err := s.pod(n)
	if err != nil || pod == nil {
		return err
	}
	s.judge.change(func(j *judge) { j.upset, j.taken[pod.UID] = true, true })
	return ignoreGone(s.client().CoreV1().Pods(s.namespace).Delete(s.ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}))
}

// touch changes a label that nobody knows, on a pod and on the workload.
func (s *stage) touch(step step) error {
	pod, err := s.pod(step.n)
	if err != nil || pod == nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"t%d"}}}`, step.id)
	_, err = s.client().CoreV1().Pods(s.namespace).Patch(s.ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return ignoreGone(err)
}

// scales says whether the workload has replicas.
func (s *stage) scales() bool { return s.script.kind != "DaemonSet" && s.script.kind != "Pod" }

// scale is somebody else's: Git wins in the end, unless it leaves that to others.
func (s *stage) scale(n int) error {
	if !s.scales() || s.wish().free && !s.canRest() {
		return nil
	}
	if s.wish().free {
		if err := s.settle(); err != nil {
			return err
		}
		s.wishes[len(s.wishes)-1].replicas = n
	}
	s.judge.change(func(j *judge) { j.wish, j.upset, j.leaving = s.wish(), true, true })
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": n}})
	if err != nil {
		return err
	}
	resource := strings.ToLower(s.script.kind) + "s"
	return ignoreGone(s.client().AppsV1().RESTClient().Patch(types.MergePatchType).Namespace(s.namespace).Resource(resource).
		Name("web").SubResource("scale").Body(patch).Do(s.ctx).Error())
}

// node silences a node, which nobody may notice, loses it for all to see, or
// brings all back.
func (s *stage) node(step step) error {
	if step.act == "return" {
		return s.bringBack()
	}
	name := s.nodes.Names()[step.n-1]
	s.judge.change(func(j *judge) { j.upset, j.leaving = true, true })
	s.nodes.StopNode(name)
	s.lost[name] = true
	if step.act == "silence" {
		return nil
	}
	now := time.Now().UTC().Format(time.RFC3339)
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"Lost","lastTransitionTime":%q,"lastHeartbeatTime":%q}]}}`, now, now)
	_, err := s.client().CoreV1().Nodes().Patch(s.ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// forgiven: a node that is back evicts pods for as long as it is tainted, also
// those that come to it anew.
func (s *stage) forgiven() error {
	for _, name := range s.nodes.Names() {
		node, err := s.client().CoreV1().Nodes().Get(s.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node %s is tainted: %v", name, node.Spec.Taints)
		}
	}
	return nil
}

func (s *stage) bringBack() error {
	for name := range s.lost {
		if err := s.nodes.StartNode(s.ctx, name); err != nil {
			return err
		}
		delete(s.lost, name)
	}
	return nil
}
