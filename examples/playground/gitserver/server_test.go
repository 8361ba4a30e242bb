package gitserver_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"situ.gitops/examples/playground/gitserver"
)

func TestClonesHoldWhatWasCommittedAndCanPush(t *testing.T) {
	server := start(t, gitserver.Options{})
	repository := create(t, server)
	hash, err := repository.Commit(t.Context(), "more", map[string]string{"shop/web.yaml": "kind: Pod\n"})
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, ".", "clone", "--quiet", repository.URL, clone)
	if head := git(t, clone, "rev-parse", "HEAD"); head != hash {
		t.Errorf("the clone is at %s, want %s", head, hash)
	}
	git(t, clone, "notes", "--ref=situ/here", "add", "-m", "state: applied")
	git(t, clone, "push", "--quiet", "origin", "refs/notes/situ/here")
	if refs := git(t, ".", "ls-remote", repository.URL, "refs/notes/*"); !strings.Contains(refs, "refs/notes/situ/here") {
		t.Errorf("ls-remote after the push = %q, want the note's ref", refs)
	}
}

func TestCreateTakesTheFilesOfAFolder(t *testing.T) {
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "web.yaml"), []byte("kind: Pod\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	repository, err := start(t, gitserver.Options{}).Create(t.Context(), "shop", from)
	if err != nil {
		t.Fatal(err)
	}
	if content := git(t, repository.Bare, "show", "main:web.yaml"); content != "kind: Pod" {
		t.Errorf("web.yaml in the repository = %q, want the folder's", content)
	}
}

func TestOnlyUsersMayReadAndOnlyWritersMayPush(t *testing.T) {
	server := start(t, gitserver.Options{Users: []gitserver.User{
		{Name: "writer", Password: "w"},
		{Name: "reader", Password: "r", ReadOnly: true},
	}})
	repository := create(t, server)
	for _, tt := range []struct {
		who          *url.Userinfo
		reads, pushs bool
	}{
		{nil, false, false},
		{url.UserPassword("writer", "wrong"), false, false},
		{url.UserPassword("reader", "r"), true, false},
		{url.UserPassword("writer", "w"), true, true},
	} {
		t.Run(tt.who.String(), func(t *testing.T) {
			remote := as(t, repository.URL, tt.who)
			if err := try(t, repository.Work, "ls-remote", remote); (err == nil) != tt.reads {
				t.Errorf("read: %v, want it allowed: %v", err, tt.reads)
			}
			if err := try(t, repository.Work, "push", remote, "HEAD:refs/heads/other"); (err == nil) != tt.pushs {
				t.Errorf("push: %v, want it allowed: %v", err, tt.pushs)
			}
		})
	}
}

func TestHTTPSIsTrustedByItsAuthorityOnly(t *testing.T) {
	server := start(t, gitserver.Options{TLS: true})
	repository := create(t, server)
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, server.AuthorityPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := try(t, ".", "ls-remote", repository.URL); err == nil {
		t.Error("a client without the authority was served")
	}
	t.Setenv("GIT_SSL_CAINFO", authority)
	git(t, ".", "ls-remote", repository.URL)
}

func start(t *testing.T, options gitserver.Options) *gitserver.Server {
	t.Helper()
	server, err := gitserver.StartWith(t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

func create(t *testing.T, server *gitserver.Server) *gitserver.Repository {
	t.Helper()
	repository, err := server.Create(t.Context(), "shop", "")
	if err != nil {
		t.Fatal(err)
	}
	return repository
}

func as(t *testing.T, remote string, who *url.Userinfo) string {
	t.Helper()
	u, err := url.Parse(remote)
	if err != nil {
		t.Fatal(err)
	}
	u.User = who
	return u.String()
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := command(t, dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func try(t *testing.T, dir string, args ...string) error {
	return command(t, dir, args...).Run()
}

func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@situ.gitops", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@situ.gitops")
	return cmd
}
