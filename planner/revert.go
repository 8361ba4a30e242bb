package planner

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Reverted is what a workload remembers of an update that failed and was taken
// back, in AnnotationReverted. It holds for as long as Git wants that template.
type Reverted struct {
	Template string `json:"template"` // the revision that failed
	To       string `json:"to"`       // the label of the revision that pods went back to
	Text     string `json:"text"`     // why
}

func revertedOf(r *rollout) Reverted {
	var reverted Reverted
	if err := json.Unmarshal([]byte(r.live.Object.GetAnnotations()[AnnotationReverted]), &reverted); err != nil {
		return Reverted{}
	}
	return reverted
}

// takeBack makes the template of before the wanted one, where an update to Git's
// own has failed.
func (r *rollout) takeBack(h host) {
	reverted := revertedOf(r)
	if reverted.Template == "" || reverted.Template != revision(r.want) || !r.settings.Revert {
		return
	}
	if before := h.recorded(reverted.To); before.known {
		r.want, r.reverted = templateOf(before.from), reverted.Text
	}
}

// revertStep writes down that the update failed, once it has. The next round
// then plans towards the template of before.
func (r *rollout) revertStep(h host) Step {
	if !r.settings.Revert || r.stopped == "" || r.reverted != "" {
		return nil
	}
	for i := range r.cases {
		c := &r.cases[i]
		from := c.mark.From
		if !r.reachedBy(c) || !c.progress.broken || !h.recorded(from).known {
			continue
		}
		note := jsonText(Reverted{Template: revision(r.want), To: from, Text: r.stopped})
		return Step{r.annotate(note, "take the update of "+r.manifest.Ref.String()+" back: "+r.stopped)}
	}
	return nil
}

// forgetStep removes what was written down about a template that Git has left.
func (r *rollout) forgetStep() Step {
	if r.reverted != "" || r.live.Object.GetAnnotations()[AnnotationReverted] == "" {
		return nil
	}
	return Step{r.annotate(nil, "forget the failed update of "+r.manifest.Ref.String())}
}

func (r *rollout) annotate(value any, text string) Action {
	return Action{
		Name: "revert", Mode: StrategicPatch, Ref: r.manifest.Ref, UID: r.uid(), Text: text,
		Body: map[string]any{"metadata": map[string]any{"uid": string(r.uid()), "annotations": map[string]any{AnnotationReverted: value}}},
	}
}

// labelOf is the revision label that a pod carries, whoever its host is.
func labelOf(pod *corev1.Pod) string {
	if label := pod.Labels[appsv1.ControllerRevisionHashLabelKey]; label != "" {
		return label
	}
	return pod.Labels[LabelRevision]
}
