package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations of a pod that decide how it fares.
const (
	// AnnotationMissing names containers whose image cannot be pulled, with
	// commas between them; "*" names all.
	AnnotationMissing = "playground.situ.gitops/missing"
	// AnnotationCrash names containers that crash.
	AnnotationCrash = "playground.situ.gitops/crash"
	// AnnotationStartAfter is how long every container of the pod takes until it
	// runs, such as "2s".
	AnnotationStartAfter = "playground.situ.gitops/start-after"
	// AnnotationReadyAfter is how long it takes from then until it is ready.
	AnnotationReadyAfter = "playground.situ.gitops/ready-after"
	// AnnotationEndAfter is how long it takes to end when the pod is deleted.
	AnnotationEndAfter = "playground.situ.gitops/end-after"
	// AnnotationResize is "Deferred" or "Infeasible": what becomes of a resize.
	AnnotationResize = "playground.situ.gitops/resize"
)

// NoSuchFile is in the path of every command that simulated images do not hold:
// a container whose command has it ends with StartError, its image pulled.
const NoSuchFile = "situ.gitops"

// Fate is what becomes of a container that is started.
type Fate string

// The fates.
const (
	Runs      Fate = "runs"
	Missing   Fate = "missing"   // its image cannot be pulled
	Crashes   Fate = "crashes"   // it ends with an error, again and again
	Completes Fate = "completes" // it ends by itself and is content
	Unusable  Fate = "unusable"  // its command is not in the image

	initialises Fate = "initialises"
)

// ending is how a container with such a fate ends.
type ending struct {
	after    time.Duration
	exitCode int32
	reason   string
	format   string // of the message; takes the command
}

var endings = map[Fate]ending{
	Crashes:     {crashAfter, 1, "Error", ""},
	Completes:   {completeAfter, 0, "Completed", ""},
	initialises: {0, 0, "Completed", ""},
	Unusable: {0, 128, "StartError", "failed to create containerd task: failed to create shim task: OCI runtime create failed: " +
		"runc create failed: unable to start container process: exec: %[1]q: stat %[1]s: no such file or directory: unknown"},
}

func (e ending) message(spec corev1.Container) string {
	if e.format == "" || len(spec.Command) == 0 {
		return ""
	}
	return fmt.Sprintf(e.format, spec.Command[0])
}

// ofInit is the fate of a plain init container: running means completing.
func (f Fate) ofInit() Fate {
	if f == Runs {
		return initialises
	}
	return f
}

// fate decides by the first row that fits.
func (t *turn) fate(spec corev1.Container) Fate {
	ordered, isOrdered := t.kubelet.orders.fate(spec.Image)
	for _, row := range []struct {
		fits bool
		fate Fate
	}{
		{isOrdered, ordered},
		{tagged(spec.Image, "missing") || t.names(AnnotationMissing, spec.Name), Missing},
		{len(spec.Command) > 0 && strings.Contains(spec.Command[0], NoSuchFile), Unusable},
		{tagged(spec.Image, "crash") || t.names(AnnotationCrash, spec.Name), Crashes},
		{t.isJob(), Completes},
	} {
		if row.fits {
			return row.fate
		}
	}
	return Runs
}

func (t *turn) names(annotation, container string) bool {
	list := t.pod.Annotations[annotation]
	return list == "*" || slices.Contains(strings.Split(list, ","), container)
}

func (t *turn) isJob() bool {
	return slices.ContainsFunc(t.pod.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.Kind == "Job" })
}

// delay is the longest that anybody asked for.
func (t *turn) delay(spec corev1.Container) Delay {
	ordered := t.kubelet.orders.delay(spec.Image)
	return Delay{
		Start: max(ordered.Start, t.duration(AnnotationStartAfter)),
		Ready: max(ordered.Ready, t.duration(AnnotationReadyAfter)),
		End:   max(ordered.End, t.duration(AnnotationEndAfter)),
	}
}

// duration reads an annotation; one that is no duration asks for nothing.
func (t *turn) duration(annotation string) time.Duration {
	d, err := time.ParseDuration(t.pod.Annotations[annotation])
	if err != nil {
		return 0
	}
	return d
}
