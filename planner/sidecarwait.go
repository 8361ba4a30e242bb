package planner

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// takesForce is how long the API server may take until it obeys a new policy: it
// looks for new ones once a second.
const takesForce = 5 * time.Second

// awaitSets keeps workloads from making pods while a SidecarSet that gives them
// containers is not in force yet: they would lack them until they are made anew.
func (p *Plan) awaitSets(commit Commit, snap Snapshot) {
	for _, m := range commit.Manifests {
		if m.Hosting == nil || m.Hosting.Sidecars == nil || !m.Hosting.Sidecars.Injecting || snap.Proofs[m.Ref].Object == nil {
			continue
		}
		wake, young := inForce(snap, m.Ref)
		if !young {
			continue
		}
		for i := range p.Workloads {
			w := &p.Workloads[i]
			if len(w.Steps) == 0 || !w.Create && w.Verdict != Recreate || !m.Hosting.Sidecars.wants(commit, w.Ref) {
				continue
			}
			w.Steps, w.State, w.Text = nil, Progressing, m.Named().String()+" comes first, so that its pods get their containers"
			p.wakeAt(wake)
		}
	}
}

// inForce is when a new policy and its binding are obeyed for sure. Clocks differ:
// one that is far from the server's keeps nobody waiting.
func inForce(snap Snapshot, policy Ref) (at time.Time, young bool) {
	binding := policy
	binding.Kind += "Binding"
	for _, ref := range []Ref{policy, binding} {
		live, there := snap.Live[ref]
		if !there {
			return snap.Now.Add(takesForce), true
		}
		made := live.Object.GetCreationTimestamp().Time
		if age := snap.Now.Sub(made); age > -takesForce && age < takesForce {
			at, young = latest(at, made.Add(takesForce)), true
		}
	}
	return at, young
}

// wants: the workload makes pods that the set gives containers to. Which labels
// namespaces have is not known here, so only their names speak against it.
func (s *Sidecars) wants(commit Commit, workload Ref) bool {
	for _, m := range commit.Manifests {
		if m.Named() != workload || m.Hosting != nil && m.Hosting.Sidecars != nil {
			continue
		}
		of := mapAt(m.Object, "spec", "template", "metadata", "labels")
		if m.Kind == "Pod" {
			of = mapAt(m.Object, "metadata", "labels")
		}
		return s.Matches(textsOf(of)) && s.mayCover(m.Namespace)
	}
	return false
}

func (s *Sidecars) mayCover(namespace string) bool {
	named := s.Namespaces.DeepCopy()
	named.MatchLabels = nil
	kept := named.MatchExpressions[:0]
	for _, r := range named.MatchExpressions {
		if r.Key == corev1.LabelMetadataName {
			kept = append(kept, r)
		}
	}
	named.MatchExpressions = kept
	return matches(named, labels.Set{corev1.LabelMetadataName: namespace})
}

func textsOf(m map[string]any) labels.Set {
	texts := labels.Set{}
	for key := range m {
		texts[key] = textAt(m, key)
	}
	return texts
}

// strangersPolicy: an object has the name of the one that is to host the set, and
// it is somebody's own. It must not be overwritten.
func strangersPolicy(m Manifest, live Live) bool {
	return m.Hosting != nil && live.Object.GetAnnotations()[AnnotationHosts] == ""
}

func strangersText(m Manifest) string {
	return m.Ref.String() + " is there already and hosts no SidecarSet: delete it, or give " + m.Named().String() + " another name"
}
