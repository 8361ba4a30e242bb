package stories

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// aSettledSourceAsksNothing follows a source in which nothing happens, with a
// workload whose pods have a sidecar of a SidecarSet: no request to the API
// server, by situ's own count and by the server's, and nothing written to the
// repository, round after round.
func aSettledSourceAsksNothing(t *testing.T, g *ground) {
	t.Parallel()
	teller := newTeller(t, g)
	teller.becomeCounted()
	teller.commit("the shop opens", colored(1)+teller.sidecarSet())
	serve := teller.serve()
	serve.await("the commit to settle", func(s served) bool { return s.Note.State == "settled" })
	// The rounds right after may still belong to the rollout.
	serve.awaitPolls(3)

	own, server, refs := serve.requests(), teller.counted(), teller.refs()
	serve.awaitPolls(6)
	if now := serve.requests(); now != own {
		t.Errorf("situ sent %d requests in six idle rounds by its own count, want none", now-own)
	}
	if now := teller.counted(); now != server {
		t.Errorf("situ sent %d requests in six idle rounds by the API server's count, want none", now-server)
	}
	if now := teller.refs(); now != refs {
		t.Errorf("the repository was written to in six idle rounds:\n%s\nbefore:\n%s", now, refs)
	}

	// What others write on its pods is told from what it sees anyway.
	teller.run("kubectl", "annotate", "pods", "-l", "app=web", "color-")
	serve.await("the drift to be told", func(s served) bool { return s.Plan.Summary.Drifted == 2 })
	serve.awaitPolls(3)
	if now := serve.requests(); now != own {
		t.Errorf("situ sent %d requests about pods that others have written on, want none", now-own)
	}
	if now := teller.refs(); now != refs {
		t.Errorf("the repository was written to since others have written on pods:\n%s\nbefore:\n%s", now, refs)
	}

	// The counts do count: a commit moves all three.
	teller.commit("app v2", colored(2)+teller.sidecarSet())
	serve.await("the next commit to settle", func(s served) bool {
		return s.Note.State == "settled" && strings.HasPrefix(s.Subject, "app v2")
	})
	serve.awaitPolls(2)
	if serve.requests() == own || teller.counted() == server || teller.refs() == refs {
		t.Error("a rollout did not show in the counts, so that they prove nothing")
	}
}

// colored is a Deployment whose template has an annotation.
func colored(turn int) string {
	return strings.Replace(crashKinds[0].manifest(turn), "{labels: {app: web}}", "{labels: {app: web}, annotations: {color: azure}}", 1)
}

// sidecarSet gives a container to the pods of the story's namespace.
func (t teller) sidecarSet() string {
	return "---\napiVersion: apps.kruise.io/v1beta1\nkind: SidecarSet\nmetadata: {name: " + t.namespace + "}\nspec:\n" +
		"  specificNamespace: {namespace: " + t.namespace + "}\n  selector: {matchLabels: {app: web}}\n" +
		"  containers: [{name: mesh, image: 'registry.playground/sidecar:v1'}]\n"
}

// becomeCounted makes the story's kubeconfig that of a user whose requests the
// API server counts apart.
func (t teller) becomeCounted() {
	t.Helper()
	config, err := t.cluster.AddUser(t.namespace)
	check(t.T, err)
	user := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: t.namespace}
	_, err = t.client().RbacV1().ClusterRoleBindings().Create(t.story.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: t.namespace}, Subjects: []rbacv1.Subject{user},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}, metav1.CreateOptions{})
	check(t.T, err)
	every := []string{"*"}
	_, err = t.client().FlowcontrolV1().FlowSchemas().Create(t.story.ctx, &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: t.namespace},
		Spec: flowcontrolv1.FlowSchemaSpec{
			MatchingPrecedence:         10,
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.PriorityLevelConfigurationNameExempt},
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects:         []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: t.namespace}}},
				ResourceRules:    []flowcontrolv1.ResourcePolicyRule{{Verbs: every, APIGroups: every, Resources: every, Namespaces: every, ClusterScope: true}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: every, NonResourceURLs: every}},
			}},
		},
	}, metav1.CreateOptions{})
	check(t.T, err)
	check(t.T, writeKubeconfig(config, filepath.Join(t.dir, ".kube", "config"), "east", t.namespace))
	// The server takes a new flow up a moment after it was made.
	check(t.T, eventually(t.story.ctx, "the API server to count the user apart", func() (bool, error) {
		t.run("kubectl", "get", "pods")
		return t.counted() > 0, nil
	}))
}

// counted is how many requests of the story's user the API server has let in.
func (t teller) counted() int {
	t.Helper()
	text, err := t.client().Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.story.ctx)
	check(t.T, err)
	return sum(t.T, text, `apiserver_flowcontrol_dispatched_requests_total\{flow_schema="`+t.namespace+`"[^}]*\}`)
}

// sum adds up the samples of a metric.
func sum(t *testing.T, text []byte, metric string) int {
	t.Helper()
	total := 0
	for _, match := range regexp.MustCompile(`(?m)^`+metric+` (\S+)$`).FindAllSubmatch(text, -1) {
		n, err := strconv.ParseFloat(string(match[1]), 64)
		check(t, err)
		total += int(n)
	}
	return total
}
