package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"situ.gitops/planner"
)

// glob is one line of the ignore file, with the meaning that it has for Git.
type glob struct {
	parts  []string // of the pattern; "**" stands for any number of folders
	keep   bool     // the line starts with "!"
	folder bool     // the line ends with "/"
}

type globs []glob

// maxGlobs bounds the work that one ignore file can cause.
const maxGlobs = 1000

func parseGlobs(f File) (globs, []planner.Problem) {
	var out globs
	var problems []planner.Problem
	number := 0
	for line := range strings.Lines(string(f.Content)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		g := newGlob(line)
		if slices.ContainsFunc(g.parts, malformed) {
			problems = append(problems, planner.Problem{
				Origin: planner.Origin{File: f.Path},
				Text:   fmt.Sprintf("%q is not a pattern; want one such as old/, *.tmp.yaml or !keep.yaml (line %d)", short(line), number),
			})
			continue
		}
		if len(out) == maxGlobs {
			return out, append(problems, planner.Problem{
				Origin: planner.Origin{File: f.Path},
				Text:   fmt.Sprintf("it has more than %d patterns; ignore folders instead of files (line %d)", maxGlobs, number),
			})
		}
		out = append(out, g)
	}
	return out, problems
}

func newGlob(line string) glob {
	var g glob
	line, g.keep = strings.CutPrefix(line, "!")
	line, g.folder = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	g.parts = strings.Split(strings.TrimPrefix(line, "/"), "/")
	if !anchored {
		g.parts = append([]string{"**"}, g.parts...)
	}
	return g
}

func malformed(part string) bool {
	_, err := path.Match(part, "")
	return part == "" || err != nil
}

// matches says whether a file is left out. Hidden files and folders always are,
// and as in Git nothing below an ignored folder comes back.
func (gs globs) matches(file string) bool {
	parts := strings.Split(file, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ".") || gs.ignore(parts, i+1) {
			return true
		}
	}
	return false
}

// ignore judges the first parts of a path, which are a folder unless they are
// all of it: the last line that matches decides.
func (gs globs) ignore(file []string, depth int) bool {
	folder := depth < len(file)
	for i := len(gs) - 1; i >= 0; i-- {
		if g := gs[i]; (folder || !g.folder) && matchParts(g.parts, file[:depth]) {
			return !g.keep
		}
	}
	return false
}

// matchParts goes back to the last "**" only, so no pattern makes it slow.
func matchParts(pattern, parts []string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(parts) {
		if p < len(pattern) && pattern[p] == "**" {
			star, mark = p, i
			p++
			continue
		}
		if p < len(pattern) {
			if ok, _ := path.Match(pattern[p], parts[i]); ok {
				p++
				i++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, i = star+1, mark
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}
