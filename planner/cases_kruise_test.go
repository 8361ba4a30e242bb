package planner_test

import (
	"situ.gitops/planner"
	"situ.gitops/planner/kruise"
)

func init() {
	planner.Kinds.Host = kruise.Host
	planner.Kinds.Check = func(m planner.Manifest) []string {
		var mistakes []string
		for _, mistake := range kruise.Check(m) {
			mistakes = append(mistakes, mistake.Text)
		}
		return mistakes
	}
}
