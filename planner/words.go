package planner

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Ref names one object of a cluster.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String gives the short form that people read: "deployment/web in shop".
func (r Ref) String() string {
	short := strings.ToLower(r.Kind) + "/" + r.Name
	if r.Namespace == "" {
		return short
	}
	return short + " in " + r.Namespace
}

// Group is the API group of the object, "" for the core group.
func (r Ref) Group() string {
	group, _, found := strings.Cut(r.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// Origin is the place in a repository that a manifest comes from.
type Origin struct {
	File     string `json:"file"`
	Document int    `json:"document"` // counts from 1
}

// String gives the place as errors name it: "deploy/web.yaml, document 2".
func (o Origin) String() string {
	if o.Document == 0 {
		return o.File
	}
	return fmt.Sprintf("%s, document %d", o.File, o.Document)
}

// Manifest is one object that Git wants.
type Manifest struct {
	Ref
	Origin  Origin
	Object  map[string]any // as written, with the namespace filled in
	Hosting *Hosting       // what Git has instead, if the object hosts the pods of another kind
}

// Hosting is a workload of a kind that the cluster does not serve. The object of
// its manifest is the stock object that hosts its pods.
type Hosting struct {
	Ref      Ref       // as Git names it
	Settings Settings  // what it asks of its rollout
	Warnings []string  // what it asks for and does not get, and what to do instead
	Sidecars *Sidecars // of a SidecarSet's policy, else nil
}

// HostedBy is the workload whose pods a stock object hosts, as Git names it.
func HostedBy(host metav1.Object) (Ref, bool) {
	hosts := host.GetAnnotations()[AnnotationHosts]
	cut := strings.LastIndexByte(hosts, '/')
	if cut < 0 {
		return Ref{}, false
	}
	return Ref{APIVersion: hosts[:cut], Kind: hosts[cut+1:], Namespace: host.GetNamespace(), Name: host.GetName()}, true
}

// Named is the object as Git names it, and as people are told of it.
func (m Manifest) Named() Ref {
	if m.Hosting != nil {
		return m.Hosting.Ref
	}
	return m.Ref
}

// Problem is something that a person must mend: its place, the cause and the way out.
type Problem struct {
	Origin Origin `json:"origin"`
	Text   string `json:"text"`
}

func (p Problem) String() string {
	if p.Origin.File == "" {
		return p.Text
	}
	return p.Origin.String() + ": " + p.Text
}

// Commit is what one revision of a source wants.
type Commit struct {
	ID        string
	Manifests []Manifest // in the order of their origins, each Ref once
	Problems  []Problem  // what could not be read; its objects are left as they are
	Policy    Policy
	Source    string // the name of where it comes from; "": it is nobody's business
}

// Policy is what the person who runs situ decided for all workloads.
type Policy struct {
	Pull     PullPolicy // what comes before a restart with a new image
	TakeOver []string   // sources whose objects become this one's
}

// PullPolicy says whether a new image is brought to a node before the container
// there is stopped.
type PullPolicy string

// The pull policies; none is PullAlways.
const (
	PullAlways    PullPolicy = "always"     // nothing is stopped before
	PullIfAllowed PullPolicy = "if-allowed" // the same, unless the server refuses the pod that would do it
	PullNever     PullPolicy = "never"
)

// Snapshot is what the cluster looked like at one moment. Objects are shared
// with the caches that they came from: nobody edits them.
type Snapshot struct {
	Now    time.Time
	Live   map[Ref]Live                               // objects of the commit that exist
	Proofs map[Ref]Proof                              // one for each manifest of the commit
	Owned  map[types.UID][]*unstructured.Unstructured // ReplicaSets and ControllerRevisions, by their controller
	Served Served

	Namesakes map[Ref]Namesake  // stock objects that share the name of a workload of OpenKruise
	Strays    map[string]Strays // by namespace, where a stock object hosts, or is to host, a workload of OpenKruise

	Autoscalers map[Ref]string                             // workload -> what owns its replicas: "horizontalpodautoscaler/web"
	Disruptions map[string][]*policyv1.PodDisruptionBudget // by namespace
	Allocatable map[string]corev1.ResourceList             // node -> cpu and memory for pods
	NodeLabels  map[string]map[string]string               // node -> its labels; nil: they are not known
	Images      map[string]map[string]bool                 // node -> images that it has, as ImageName spells them
	Pulls       []*corev1.Pod                              // pods that bring images to nodes, of the workloads' namespaces
	Refused     map[Ref]string                             // objects that the server would not create a moment ago: its words
	Claims      map[string]Claims                          // by namespace, where claim templates have changed
	Expandable  map[string]bool                            // storage class -> its volumes can grow
	Pods        map[types.UID][]*corev1.Pod                // by their controller; a bare pod by its own UID
	Matched     map[Ref][]*corev1.Pod                      // by the policy of a SidecarSet: pods that match it
}

// Served is what the API server can do beyond what every version can.
type Served struct {
	Resize bool // pods/resize
}

// Namesake is a stock object that may have, or want, the pods of a workload that
// has its name.
type Namesake struct {
	Object *unstructured.Unstructured
	Ours   bool // situ has applied it
}

// Live is an object as it is in the cluster now.
type Live struct {
	Object *unstructured.Unstructured
	Health Health
}

// Health is kstatus' verdict on a live object.
type Health struct {
	Status string // Current, InProgress, Failed, Terminating or Unknown
	Text   string
}

// Proof is the server's answer to a dry-run apply of a manifest.
type Proof struct {
	Object  *unstructured.Unstructured // what the server would store, defaults filled in; nil if it refused
	Refusal string                     // the server's own words, "" if it would accept
	Missing bool                       // refused only since its kind or namespace is not there (yet)
	Claims  bool                       // only with the claim templates that the object has; those of Git were refused
	Adopt   bool                       // kubectl made the object; its fields change hands at the first write
}
