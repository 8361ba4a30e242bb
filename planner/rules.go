package planner

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Rule is one row of the table that turns a changed field into a verdict.
type Rule struct {
	ID      string  `json:"id"`
	Field   string  `json:"field"`
	When    string  `json:"when,omitempty"` // the guard, in words
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	Since   string  `json:"since"` // the Kubernetes version whose API server and kubelet it relies on

	match func(Change) bool
	guard func(asked) bool
}

const resourceFields = "spec.*[*].resources.{requests,limits}.{cpu,memory}"

// asked is what a guard may look at: the change, both templates, the live pod
// and what the server can do.
type asked struct {
	Change
	from, to Template
	pod      *corev1.Pod
	touched  []string // by an unfinished update of the pod
	served   Served

	allocatable map[string]corev1.ResourceList // by node: cpu and memory
}

// rules is the table. The first row whose field and guard fit decides a change;
// the costliest verdict decides the pod; the last row catches everything.
//
// What the API server lets a running pod change is fixed by ValidatePodUpdate in
// Kubernetes (pkg/apis/core/validation); what restarts a container, by the
// kubelet, which since 1.31 compares a container's name and image only.
var rules = []Rule{
	{"image-already", "spec.*[*].image", "the running pod has this image already", Metadata,
		"somebody gave the pod this image before; nothing restarts", "1.0",
		anyImage, alreadyLive},
	{"image", "spec.containers[*].image", "", Restart,
		"the kubelet restarts this container in the same pod", "1.0",
		field("spec", "containers", "image"), always},
	{"sidecar-image", "spec.initContainers[*].image", "the init container has restartPolicy Always", Restart,
		"the kubelet restarts this native sidecar in the same pod", "1.29",
		field("spec", "initContainers", "image"), nativeSidecar},
	{"init-image", "spec.initContainers[*].image", "the pod is initialised", Metadata,
		"patched now; it takes effect when the pod starts again", "1.0",
		field("spec", "initContainers", "image"), initialised},
	{"env-from-metadata", "metadata.labels[*], metadata.annotations[*]", "a container's env reads the key, and the digest of its image is known", Restart,
		"an env of these containers reads it; they restart in the same pod, on the same image", "1.31",
		field("metadata"), readWithDigest},
	{"env-from-metadata-no-digest", "metadata.labels[*], metadata.annotations[*]", "a container's env reads the key", Recreate,
		"an env reads it, and no digest of the container's image is known to restart it in place", "1.0",
		field("metadata"), readByEnv},
	{"resize-removed", resourceFields, "a value is taken away", Recreate,
		"a running pod's resources may change but not disappear", "1.27", isResize, removes},
	{"resize-init", resourceFields, "of a plain init container", Recreate,
		"it has run already, and not every node takes it; a new pod is sure to have it", "1.27", isResize, plainInitResources},
	{"resize-unserved", resourceFields, "the server has no pods/resize", Recreate,
		"the server does not serve pods/resize", "1.0", isResize, unservedResize},
	{"resize-qos", resourceFields, "the pod's QoS class would be another", Recreate,
		"the pod's QoS class would change, which the server refuses", "1.27", isResize, changesQoS},
	{"resize-infeasible", resourceFields, "the node says that it can never have it", Recreate,
		"the node can never have it, so another one must", "1.33", isResize, infeasible},
	{"resize-restart", resourceFields, "resizePolicy says RestartContainer", Restart,
		"pods/resize; its resizePolicy restarts this container in the same pod", "1.33", isResize, restartsOnResize},
	{"resize", resourceFields, "", Resize,
		"pods/resize; nothing restarts", "1.33", isResize, always},
	{"metadata", "metadata.*", "", Metadata,
		"labels and annotations are patched; nothing restarts", "1.0",
		field("metadata"), always},
	{"deadline", "spec.activeDeadlineSeconds", "it gets shorter", Metadata,
		"patched; a running pod's deadline may only get shorter", "1.0",
		field("spec", "activeDeadlineSeconds"), shortens},
	{"tolerations", "spec.tolerations", "tolerations are added", Metadata,
		"patched; a running pod's tolerations may only get more", "1.0",
		field("spec", "tolerations"), adds},
	{"claim-template", "spec.volumes[*].ephemeral.volumeClaimTemplate.*", "it stands for a claim template of the workload", Metadata,
		"pods keep the claims that they have; a pod that is made from now on gets the new one", "1.23",
		field("spec", "volumes"), isClaim},
	{"init-order", "spec.initContainers", "they come in another order", Recreate,
		"init containers run in their order, so another order needs a new pod", "1.0",
		field("spec", "initContainers"), reordered},
	{"env-order", "spec.*[*].env", "they come in another order, and one refers to another", Recreate,
		"$(NAME) sees only what comes before it, so another order needs a new pod", "1.0",
		field("spec", "*", "env"), reorderedReferences},
	{"order", "any list with merge keys", "its items come in another order", Metadata,
		"the same items in another order mean the same to a running pod", "1.0",
		anyField, reordered},
	{"pod-spec", "spec.*", "", Recreate,
		"only a new pod can have it", "1.0",
		anyField, always},
}

// Rules is the table, for people and for the README.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// judge finds the first rule that fits.
func judge(a asked) Rule {
	for _, rule := range rules {
		if rule.match(a.Change) && rule.guard(a) {
			return rule
		}
	}
	panic("the last rule catches everything")
}

// reason tells a rule's verdict about one change. Values are shown only where
// Git shows them to everybody anyway and no secret is expected: images and amounts.
func reason(rule Rule, c Change) Reason {
	why := Reason{Rule: rule.ID, Field: c.Field, Text: rule.Reason}
	if strings.HasSuffix(c.Field, ".image") || isResize(c) {
		why.From, why.To = shown(c.Old), shown(c.New)
	}
	return why
}

func shown(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// field matches a path by its keys: the first two and, if given, the last one.
func field(keys ...string) func(Change) bool {
	return func(c Change) bool {
		if len(keys) > 2 && (len(c.path) != len(keys)) {
			return false
		}
		for i, key := range keys {
			if i >= len(c.path) || key != "*" && c.path[i].key != key {
				return false
			}
		}
		return true
	}
}

func anyField(Change) bool { return true }

func always(asked) bool { return true }

func reordered(a asked) bool { return a.Reordered }

func nativeSidecar(a asked) bool {
	name, _ := a.Container()
	return a.Old != nil && a.New != nil && isNativeSidecar(a.to, name)
}

func initialised(a asked) bool {
	return a.Old != nil && a.New != nil && (a.pod == nil || condition(a.pod, corev1.PodInitialized) == corev1.ConditionTrue)
}

func shortens(a asked) bool {
	to, ok := number(a.New)
	if !ok || to < 0 {
		return false
	}
	from, had := number(a.Old)
	return !had || to <= from
}

// adds: every toleration of before is still there. Their order means nothing.
func adds(a asked) bool {
	from, _ := a.Old.([]any)
	to, _ := a.New.([]any)
	return len(to) >= len(from) && len(missing(from, to)) == 0
}

// missing are the items of one list that the other does not have.
func missing(list, from []any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		return slices.ContainsFunc(from, func(other any) bool { return reflect.DeepEqual(item, other) })
	})
}

func reorderedReferences(a asked) bool {
	return a.Reordered && strings.Contains(jsonText(a.New), "$(")
}

func readByEnv(a asked) bool { return len(readers(a)) > 0 }

func readWithDigest(a asked) bool {
	names := readers(a)
	if len(names) == 0 || a.pod == nil {
		return false
	}
	for _, name := range names {
		if imageChanges(a, name) {
			continue // a new image restarts it anyway
		}
		if _, ok := aliasOf(a.pod, name); !ok {
			return false
		}
	}
	return true
}

// imageChanges reports whether the container gets another image in the same commit.
func imageChanges(a asked, name string) bool {
	return imageIn(a.from, name) != imageIn(a.to, name) && !given(a, name)
}

func anyImage(c Change) bool {
	name, _ := c.Container()
	return imageOf(c, name)
}

func alreadyLive(a asked) bool {
	name, _ := a.Container()
	return a.Old != nil && a.New != nil && given(a, name)
}

// given: somebody else has given the live container the wanted image. One that an
// unfinished update of ours has touched restarts for it, or has restarted.
func given(a asked, name string) bool {
	if a.pod == nil || liveImage(a.pod, name) != imageIn(a.to, name) {
		return false
	}
	return !slices.Contains(a.touched, "containers/"+name) && !slices.Contains(a.touched, "initContainers/"+name)
}

// readers are the running containers whose env reads the changed label or
// annotation through the downward API, in the template wanted now. Plain init
// containers have run already.
func readers(a asked) []string {
	if len(a.path) != 3 || a.path[0].key != "metadata" {
		return nil
	}
	var names []string
	for _, container := range containersOf(a.to) {
		if !container.plainInit && reads(container, a.path[1].key, a.path[2].key) {
			names = append(names, container.name)
		}
	}
	return names
}

// reads: an env of the container has the value of a label or annotation.
func reads(container containerSpec, kind, key string) bool {
	field := "metadata." + kind + "['" + key + "']"
	env, _ := container.spec["env"].([]any)
	return slices.ContainsFunc(env, func(item any) bool {
		entry, _ := item.(map[string]any)
		return textAt(entry, "valueFrom", "fieldRef", "fieldPath") == field
	})
}

func number(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	case string:
		parsed, err := strconv.ParseInt(n, 10, 64)
		return parsed, err == nil
	}
	return 0, false
}
