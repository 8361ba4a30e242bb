package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"situ.gitops/planner"
	"situ.gitops/sync/gitrepo"
	"situ.gitops/sync/manifest"
)

// maxFile bounds one file of a local folder, as fetched ones are.
const maxFile = 1 << 20

// read reads a folder, or else a revision of the repository around the working directory.
func (o *planOptions) read(cmd *cobra.Command, name string) (planner.Commit, error) {
	if stat, err := os.Stat(name); err == nil && stat.IsDir() {
		return readFolder(name)
	}
	commit, err := readRevision(cmd.Context(), name, o.source.path)
	if errors.Is(err, fs.ErrNotExist) {
		return planner.Commit{}, fmt.Errorf("%q is no folder, and the working directory is in no Git repository where it could be a revision", name)
	}
	return commit, err
}

// readFolder reads the manifests of a folder on this machine. Hidden files and
// folders are left out, as in a repository, and links in it are not followed;
// the folder itself may be reached by one.
func readFolder(dir string) (planner.Commit, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return planner.Commit{}, fmt.Errorf("read folder %s: %w", dir, err)
	}
	if stat, err := os.Stat(root); err == nil && !stat.IsDir() {
		return planner.Commit{}, fmt.Errorf("%s is a file; want the folder that it is in", dir)
	}
	f := folder{dir: root}
	if err := filepath.WalkDir(root, f.visit); err != nil {
		return planner.Commit{}, fmt.Errorf("read folder %s: %w", dir, err)
	}
	var commit planner.Commit
	commit.Manifests, commit.Problems = new(manifest.Parser).Parse(f.files)
	commit.Problems = append(commit.Problems, f.skipped...)
	return commit, nil
}

// folder gathers what is in a folder.
type folder struct {
	dir     string
	files   []manifest.File
	skipped []planner.Problem
}

// visit is a fs.WalkDirFunc.
func (f *folder) visit(file string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case file != f.dir && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".situignore":
		if entry.IsDir() {
			return filepath.SkipDir
		}
		return nil
	case entry.IsDir():
		return nil
	}
	name, err := filepath.Rel(f.dir, file)
	if err != nil {
		return err
	}
	return f.add(filepath.ToSlash(name), file, entry)
}

// add reads one file, unless it is none that may be read.
func (f *folder) add(name, file string, entry fs.DirEntry) error {
	info, err := entry.Info()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		f.skip(name, "is not a regular file and is not followed; put the file itself here")
		return nil
	case info.Size() > maxFile:
		f.skip(name, fmt.Sprintf("has more than %d bytes; split it", maxFile))
		return nil
	}
	content, err := os.ReadFile(file)
	f.files = append(f.files, manifest.File{Path: name, Content: content})
	return err
}

// skip reports a file that might have been meant as a manifest.
func (f *folder) skip(name, why string) {
	if isManifest(name) {
		f.skipped = append(f.skipped, planner.Problem{Origin: planner.Origin{File: name}, Text: why})
	}
}

func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// readRevision reads the manifests of a revision of the repository around the
// working directory.
func readRevision(ctx context.Context, rev, path string) (read planner.Commit, err error) {
	repo, err := gitrepo.OpenLocal(".")
	if err != nil {
		return planner.Commit{}, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	commit, err := repo.Resolve(ctx, rev, path)
	if err != nil {
		return planner.Commit{}, fmt.Errorf("%q is no folder either: %w", rev, err)
	}
	listed, err := repo.Files(ctx, commit, path)
	if err != nil {
		return planner.Commit{}, err
	}
	files := make([]manifest.File, 0, len(listed.Files))
	for _, file := range listed.Files {
		content, err := file.Content(ctx)
		if err != nil {
			return planner.Commit{}, err
		}
		files = append(files, manifest.File{Path: file.Path, Content: content})
	}
	read.ID = commit.Hash
	read.Manifests, read.Problems = (&manifest.Parser{Root: path}).Parse(files)
	for _, skip := range listed.Skipped {
		read.Problems = append(read.Problems, planner.Problem{Origin: planner.Origin{File: skip.Path}, Text: skip.Reason})
	}
	return read, nil
}
