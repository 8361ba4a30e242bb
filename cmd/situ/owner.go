package main

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"situ.gitops/planner"
	"situ.gitops/sync/gitrepo"
	"situ.gitops/sync/manifest"
	"situ.gitops/sync/poller"
)

// ownerOptions say whose the objects are.
type ownerOptions struct {
	name     string
	takeOver []string
}

func (o *ownerOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.name, "source", "", "name of this source on what it applies (default: the repository's name and --path)")
	flags.StringSliceVar(&o.takeOver, "take-over", nil, "sources whose objects moved here for good")
}

// reader reads the commits of a source, and names it.
func (o *ownerOptions) reader(repo *gitrepo.Repo, from sourceOptions) (*poller.Git, error) {
	name, err := o.source(from.repo, from.path)
	if err != nil {
		return nil, err
	}
	return &poller.Git{Repo: repo, Parser: &manifest.Parser{Root: from.path}, Path: from.path, Name: name,
		Policy: planner.Policy{TakeOver: o.takeOver}}, nil
}

// source is the name of a source. Neither the way to its repository nor the
// branch is part of it: they change, and the objects stay its own.
func (o *ownerOptions) source(repo, folder string) (string, error) {
	name := o.name
	if name == "" {
		name = strings.Trim(gitrepo.Name(repo)+path.Clean("/"+folder), "/")
	}
	if slices.Contains(o.takeOver, name) {
		return "", errors.New("--take-over " + name + " is this source itself; name the one that the objects come from, or give --source")
	}
	return name, nil
}
