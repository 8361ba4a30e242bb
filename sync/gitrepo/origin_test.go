package gitrepo

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// origin is a bare repository on disk and a clone to commit from, both made
// by the real git.
type origin struct {
	t    testing.TB
	bare string
	work string
	env  []string // added to git's environment
}

func newOrigin(t testing.TB, initArgs ...string) *origin {
	t.Helper()
	root := t.TempDir()
	o := &origin{t: t, bare: filepath.Join(root, "origin.git"), work: filepath.Join(root, "work")}
	o.gitIn(root, append(append([]string{"init", "-q", "--bare", "-b", "main"}, initArgs...), o.bare)...)
	o.gitIn(root, append(append([]string{"init", "-q", "-b", "main"}, initArgs...), o.work)...)
	o.git("remote", "add", "origin", o.bare)
	o.gitIn(o.bare, "config", "http.receivepack", "true")
	return o
}

// gitEnv shields the tests from the machine's own configuration.
func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@test", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@test",
	}
}

func (o *origin) gitIn(dir string, args ...string) string {
	o.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(gitEnv(), o.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (o *origin) git(args ...string) string {
	o.t.Helper()
	return o.gitIn(o.work, args...)
}

// write puts files into the work tree; no content means delete.
func (o *origin) write(files map[string]string) {
	o.t.Helper()
	for name, content := range files {
		path := filepath.Join(o.work, name)
		if content == "" {
			if err := os.RemoveAll(path); err != nil {
				o.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			o.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			o.t.Fatal(err)
		}
	}
}

// commit makes a commit on the current branch and pushes it.
func (o *origin) commit(message string, files map[string]string) string {
	o.t.Helper()
	o.write(files)
	o.git("add", "-A")
	o.git("commit", "-q", "--allow-empty", "-m", message)
	o.git("push", "-q", "-f", "origin", "HEAD")
	return o.git("rev-parse", "HEAD")
}

// gate changes how the HTTP server treats a request; true means it answered.
type gate func(w http.ResponseWriter, r *http.Request) bool

// serveHTTP serves the repository by git http-backend.
func (o *origin) serveHTTP(gates ...gate) string {
	server := httptest.NewServer(o.handler(gates...))
	o.t.Cleanup(server.Close)
	return server.URL + "/origin.git"
}

func (o *origin) handler(gates ...gate) http.Handler {
	backend := &cgi.Handler{
		Path: filepath.Join(o.gitIn("/", "--exec-path"), "git-http-backend"),
		Env: append(gitEnv(), "GIT_PROJECT_ROOT="+filepath.Dir(o.bare), "GIT_HTTP_EXPORT_ALL=1",
			"REMOTE_USER=situ"),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, g := range gates {
			if g(w, r) {
				return
			}
		}
		backend.ServeHTTP(w, r)
	})
}

func isPush(r *http.Request) bool {
	return strings.Contains(r.URL.String(), "git-receive-pack")
}

// basicAuth asks for one user and password.
func basicAuth(user, password string) gate {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if u, p, ok := r.BasicAuth(); ok && u == user && p == password {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "who are you", http.StatusUnauthorized)
		return true
	}
}

func open(t testing.TB, opts Options) *Repo {
	t.Helper()
	r, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// pull polls and fetches.
func pull(t testing.TB, r *Repo) Commit {
	t.Helper()
	head, err := r.Poll(t.Context())
	if err != nil {
		t.Fatalf("Poll: %v", err)
	}
	c, err := r.Fetch(t.Context(), head)
	if err != nil {
		t.Fatalf("Fetch(%v): %v", head, err)
	}
	return c
}

// contents lists a commit's files as path and content.
func contents(t testing.TB, r *Repo, c Commit) map[string]string {
	t.Helper()
	files, err := r.Files(t.Context(), c)
	if err != nil {
		t.Fatalf("Files: %v", err)
	}
	out := map[string]string{}
	for _, f := range files.Files {
		data, err := f.Content(t.Context())
		if err != nil {
			t.Fatalf("Content of %s: %v", f.Path, err)
		}
		out[f.Path] = string(data)
	}
	return out
}
