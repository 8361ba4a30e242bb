package stories

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"situ.gitops/examples/playground/gitserver"
	"situ.gitops/examples/playground/registry"
	"situ.gitops/examples/playground/visitor"
)

// story is the stage of one story: a namespace, a repository with its server,
// and somebody who writes down everything that happens to the pods.
type story struct {
	*ground
	ctx        context.Context
	namespace  string
	repository *gitserver.Repository
	witness    *witness
	memories   map[string]memory           // by selector
	visitors   map[string]*visitor.Visitor // by Service
	kruise     *standIn                    // nil: nobody plays OpenKruise
}

// users of every story's Git server; stories are told as the first.
var users = []gitserver.User{
	{Name: "writer", Password: "may-write"},
	{Name: "reader", Password: "may-read", ReadOnly: true},
}

// newStory sets a stage up in a folder. What it opens is closed by after.
func newStory(ctx context.Context, g *ground, dir string, after func(func())) (*story, error) {
	namespace, err := g.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	after(func() { g.removeNamespace(context.WithoutCancel(ctx), namespace) })
	repositories := filepath.Join(dir, ".git-server")
	if err := os.MkdirAll(repositories, 0o755); err != nil {
		return nil, err
	}
	server, err := gitserver.StartWith(repositories, gitserver.Options{Users: users})
	if err != nil {
		return nil, err
	}
	after(server.Close)
	repository, err := server.Create(ctx, "shop", "")
	if err != nil {
		return nil, err
	}
	witness, err := newWitness(ctx, g.client(), namespace)
	if err != nil {
		return nil, err
	}
	after(witness.close)
	s := &story{ground: g, ctx: ctx, namespace: namespace, repository: repository, witness: witness, memories: map[string]memory{}, visitors: map[string]*visitor.Visitor{}}
	return s, writeKubeconfig(g.cluster.Kubeconfig(), filepath.Join(dir, ".kube", "config"), "east", namespace)
}

// removeNamespace asks for it and does not wait: the cluster ends soon anyway.
func (g *ground) removeNamespace(ctx context.Context, namespace string) {
	_ = g.client().CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}) // only tidiness
}

// variables are what a story's programs and files may refer to.
func (s *story) variables(dir string) map[string]string {
	return map[string]string{
		"NAMESPACE":           s.namespace,
		"NODES":               strconv.Itoa(s.nodes),
		"REGISTRY":            registry.Name,
		"REGISTRY_USER":       registry.User,
		"REGISTRY_PASSWORD":   registry.Password,
		"BARE":                s.repository.Bare,
		"WORK":                s.repository.Work,
		"HOME":                dir,
		"KUBECONFIG":          filepath.Join(dir, ".kube", "config"),
		"SITU_REPO":           s.repository.URL,
		"SITU_BRANCH":         gitserver.Branch,
		"SITU_GIT_USER":       users[0].Name,
		"SITU_GIT_PASSWORD":   users[0].Password,
		"SITU_TIMEOUT":        "2m",
		"SITU_LISTEN":         "off",
		"SITU_SCHEDULE":       "@every 1s",
		"GIT_CONFIG_GLOBAL":   os.DevNull,
		"GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME":     "teller", "GIT_AUTHOR_EMAIL": "teller@situ.gitops",
		"GIT_COMMITTER_NAME": "teller", "GIT_COMMITTER_EMAIL": "teller@situ.gitops",
	}
}

// stage is the key of a script's story.
type stage struct{}

func of(ts *testscript.TestScript) *story { return ts.Value(stage{}).(*story) }

// tell makes the parameters for the stories in some folders.
func tell(ctx context.Context, g *ground, folders ...string) testscript.Params {
	params := testscript.Params{Cmds: maps.Clone(verbs), RequireExplicitExec: true, RequireUniqueNames: true}
	maps.Copy(params.Cmds, nodeVerbs)
	maps.Copy(params.Cmds, wayVerbs)
	for _, folder := range folders {
		files, _ := filepath.Glob(filepath.Join("testdata", folder, "*.txtar")) // the pattern is well-formed
		params.Files = append(params.Files, files...)
	}
	params.Setup = func(env *testscript.Env) error {
		s, err := newStory(ctx, g, env.WorkDir, env.Defer)
		if err != nil {
			return err
		}
		env.Values[stage{}] = s
		for name, value := range s.variables(env.WorkDir) {
			env.Setenv(name, value)
		}
		return nil
	}
	return params
}
