package poller

import (
	"context"
	"fmt"

	"situ.gitops/planner"
	"situ.gitops/sync/gitrepo"
	"situ.gitops/sync/manifest"
)

// Source is where commits come from; *Git is one.
type Source interface {
	// Poll asks for the head and transfers nothing else.
	Poll(ctx context.Context) (gitrepo.Head, error)
	// Read brings the head's commit and parses its manifests.
	Read(ctx context.Context, head gitrepo.Head) (Revision, error)
}

// Revision is a commit with what a note tells about where it comes from.
type Revision struct {
	planner.Commit
	Path          string
	Tree          string // hash of the manifests' folder
	Subject       string
	RewrittenFrom string // the commit that a forced push took away, or ""
}

// Git is a Source: one branch, tag or commit of a repository.
type Git struct {
	Repo   *gitrepo.Repo
	Parser *manifest.Parser
	Path   string
	Name   string         // of the source, on what it applies; "": it has none
	Policy planner.Policy // for every commit
}

// Poll asks the remote for one ref.
func (g *Git) Poll(ctx context.Context) (gitrepo.Head, error) { return g.Repo.Poll(ctx) }

// Read fetches and parses. Files that cannot be read as manifests are problems
// of the commit, not errors: the others go on.
func (g *Git) Read(ctx context.Context, head gitrepo.Head) (Revision, error) {
	commit, err := g.Repo.Fetch(ctx, head)
	if err != nil {
		return Revision{}, err
	}
	rev := Revision{Commit: planner.Commit{ID: commit.Hash, Policy: g.Policy, Source: g.Name}, Path: g.Path, Tree: commit.Tree, Subject: commit.Subject,
		RewrittenFrom: commit.RewrittenFrom()}
	listed, err := g.Repo.Files(ctx, commit)
	if err != nil {
		return Revision{}, err
	}
	files := make([]manifest.File, 0, len(listed.Files))
	for _, file := range listed.Files {
		content, err := file.Content(ctx)
		if err != nil {
			return Revision{}, fmt.Errorf("read %s of commit %.12s: %w", file.Path, commit.Hash, err)
		}
		files = append(files, manifest.File{Path: file.Path, Hash: file.Hash, Content: content})
	}
	rev.Manifests, rev.Problems = g.Parser.Parse(files)
	for _, skip := range listed.Skipped {
		rev.Problems = append(rev.Problems, planner.Problem{Origin: planner.Origin{File: skip.Path}, Text: skip.Reason})
	}
	if len(rev.Manifests)+len(rev.Problems) == 0 {
		rev.Problems = append(rev.Problems, planner.Problem{Text: nothing(g.Path)})
	}
	return rev, nil
}

// nothing is told of a commit without manifests: more often a wrong path than a wish.
func nothing(path string) string {
	where := "the repository holds"
	if path != "" && path != "." {
		where = fmt.Sprintf("the folder %q holds", path)
	}
	return where + " no manifest, that is no .yaml, .yml or .json file; correct the path, or add one; what is in the cluster stays as it is"
}
