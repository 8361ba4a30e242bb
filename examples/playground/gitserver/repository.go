package gitserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Branch is the branch that new repositories have.
const Branch = "main"

// Repository is a bare repository of the server with a clone to commit from.
// One person uses it at a time.
type Repository struct {
	// URL is where clients find it, without credentials.
	URL string
	// Bare is the folder of the repository itself.
	Bare string
	// Work is the folder of the clone: change files there, or use Commit.
	Work string
}

// Create makes the repository NAME.git with one commit that holds the files of
// the folder from; an empty from makes a first commit without files. The clone
// is NAME beside it.
func (s *Server) Create(ctx context.Context, name, from string) (*Repository, error) {
	r := &Repository{
		URL:  s.RepositoryURL(name),
		Bare: filepath.Join(s.dir, name+".git"),
		Work: filepath.Join(s.dir, name),
	}
	if _, err := r.run(ctx, s.dir, "init", "--quiet", "--bare", "--initial-branch="+Branch, r.Bare); err != nil {
		return nil, err
	}
	if _, err := r.run(ctx, s.dir, "clone", "--quiet", r.Bare, r.Work); err != nil {
		return nil, err
	}
	if from != "" {
		if err := os.CopyFS(r.Work, os.DirFS(from)); err != nil {
			return nil, fmt.Errorf("copy %s into the repository %s: %w", from, name, err)
		}
	}
	_, err := r.commit(ctx, "the beginning")
	return r, err
}

// Commit writes files, by their path in the repository, commits them with
// whatever else was changed in the clone and pushes. A file whose content is
// empty is removed. It returns the commit's hash.
func (r *Repository) Commit(ctx context.Context, message string, files map[string]string) (string, error) {
	for name, content := range files {
		if err := r.write(name, content); err != nil {
			return "", fmt.Errorf("commit %q: %w", message, err)
		}
	}
	return r.commit(ctx, message)
}

func (r *Repository) write(name, content string) error {
	path := filepath.Join(r.Work, name)
	if content == "" {
		return os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

func (r *Repository) commit(ctx context.Context, message string) (string, error) {
	for _, args := range [][]string{
		{"add", "--all"},
		{"commit", "--quiet", "--allow-empty", "--message", message},
		{"push", "--quiet", "origin", "HEAD:" + Branch},
	} {
		if _, err := r.Git(ctx, args...); err != nil {
			return "", err
		}
	}
	return r.Git(ctx, "rev-parse", "HEAD")
}

// Git runs a git command in the clone and returns what it printed.
func (r *Repository) Git(ctx context.Context, args ...string) (string, error) {
	return r.run(ctx, r.Work, args...)
}

// run runs git without what the person's own configuration would change.
func (r *Repository) run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=playground", "GIT_AUTHOR_EMAIL=playground@situ.gitops",
		"GIT_COMMITTER_NAME=playground", "GIT_COMMITTER_EMAIL=playground@situ.gitops",
	)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
