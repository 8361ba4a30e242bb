package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"situ.gitops/examples/playground/gitserver"
)

// placeholder is the registry that the shop's manifests name.
const placeholder = "registry.shop.test"

// newShop makes a repository out of the shop's manifests, whose images come
// from the registry.
func newShop(ctx context.Context, server *gitserver.Server, from, registry string) (*gitserver.Repository, error) {
	files, err := readShop(from, registry)
	if err != nil {
		return nil, err
	}
	repository, err := server.Create(ctx, "shop", "")
	if err != nil {
		return nil, err
	}
	for _, setting := range [][]string{
		// Whoever watches may commit in the clone, with or without a name in his
		// own configuration, and git log shows him the notes that he pulls.
		{"user.name", "visitor"},
		{"user.email", "visitor@shop.test"},
		{"notes.displayRef", "refs/notes/situ/*"},
	} {
		if _, err := repository.Git(ctx, "config", setting[0], setting[1]); err != nil {
			return nil, err
		}
	}
	if _, err := repository.Git(ctx, "config", "--add", "remote.origin.fetch", notesRefs); err != nil {
		return nil, err
	}
	_, err = repository.Commit(ctx, "the shop opens", files)
	return repository, err
}

func readShop(from, registry string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("find the shop's manifests in %s: none", from)
	}
	files := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the shop: %w", err)
		}
		files[filepath.Base(path)] = strings.ReplaceAll(string(content), placeholder, registry)
	}
	return files, nil
}

// edit is a change of one place in one file.
type edit struct{ file, old, new string }

// apply makes the edit in the folder of a clone.
func (e edit) apply(dir string) (map[string]string, error) {
	content, err := os.ReadFile(filepath.Join(dir, e.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(content), e.old); n != 1 {
		return nil, fmt.Errorf("%s has %q %d times, want it once", e.file, e.old, n)
	}
	return map[string]string{e.file: strings.Replace(string(content), e.old, e.new, 1)}, nil
}
