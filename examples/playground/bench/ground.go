package bench

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/examples/playground/cluster"
	"situ.gitops/examples/playground/gitserver"
	"situ.gitops/examples/playground/situ"
)

// user is situ's in the cluster, and the name of its flow.
const user = "situ-bench"

// ground is situ, and where it reads from.
type ground struct {
	program    string
	kubeconfig string
	server     *gitserver.Server
	git        *gitCounter
	front      *httptest.Server // counts, then asks server
}

// prepare builds situ, starts a Git server and makes situ's user.
func prepare(ctx context.Context, c *cluster.Cluster, dir string) (*ground, error) {
	source, err := situ.Source(ctx)
	if err != nil {
		return nil, err
	}
	g := &ground{program: filepath.Join(dir, "bin", "situ")}
	if err := situ.Build(ctx, source, g.program); err != nil {
		return nil, err
	}
	if g.kubeconfig, err = newUser(ctx, c); err != nil {
		return nil, err
	}
	repositories := filepath.Join(dir, "git")
	if err := os.RemoveAll(repositories); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(repositories, 0o755); err != nil {
		return nil, err
	}
	if g.server, err = gitserver.Start(repositories); err != nil {
		return nil, err
	}
	behind, err := url.Parse(g.server.URL())
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a situ that is stopped in the middle of a poll
	g.git = &gitCounter{next: proxy}
	g.front = httptest.NewServer(g.git)
	return g, nil
}

func (g *ground) close() {
	g.front.Close()
	g.server.Close()
}

// newUser gives situ every right and a flow of its own, so that the API server
// counts its requests apart from everybody else's. Like the administrator, who
// writes the raw patches, it is exempt from limits.
func newUser(ctx context.Context, c *cluster.Cluster) (kubeconfig string, err error) {
	kubeconfig, err = c.AddUser(user)
	if err != nil {
		return "", err
	}
	_, err = c.Client().RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("give rights to the user %s: %w", user, err)
	}
	all := []string{flowcontrolv1.ResourceAll}
	_, err = c.Client().FlowcontrolV1().FlowSchemas().Create(ctx, &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec: flowcontrolv1.FlowSchemaSpec{
			MatchingPrecedence:         2,
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.PriorityLevelConfigurationNameExempt},
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: user}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: all, APIGroups: all, Resources: all, Namespaces: []string{flowcontrolv1.NamespaceEvery}, ClusterScope: true,
				}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: []string{flowcontrolv1.NonResourceAll}}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("give a flow to the user %s: %w", user, err)
	}
	return kubeconfig, nil
}
