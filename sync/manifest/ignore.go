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

// ignoring applies the patterns of a source to its files.
type ignoring struct {
	globs   globs
	folders map[string]bool // those that were judged: whether they are left out
	effort  int             // spent so far
}

// maxEffort bounds what all patterns and all files of a source cost together, in
// comparisons of letters: about a second.
const maxEffort = 500_000_000

// exhausted: nothing more is matched, and every further file is left out.
func (g *ignoring) exhausted() bool { return g.effort > maxEffort }

// matches says whether a file is left out. Hidden files and folders always are,
// and as in Git nothing below an ignored folder comes back.
func (g *ignoring) matches(file string) bool {
	parts := strings.Split(file, "/")
	folder := strings.Join(parts[:len(parts)-1], "/")
	return g.leftOut(folder, parts[:len(parts)-1]) || g.ignore(parts, false)
}

func (g *ignoring) leftOut(folder string, parts []string) bool {
	if len(parts) == 0 {
		return false
	}
	out, known := g.folders[folder]
	if !known {
		above := parts[:len(parts)-1]
		out = g.leftOut(strings.Join(above, "/"), above) || g.ignore(parts, true)
		g.folders[folder] = out
	}
	return out
}

// ignore judges a path by itself: the last line that matches decides.
func (g *ignoring) ignore(parts []string, folder bool) bool {
	if strings.HasPrefix(parts[len(parts)-1], ".") {
		return true
	}
	for i := len(g.globs) - 1; i >= 0; i-- {
		if g.exhausted() {
			return true
		}
		if one := &g.globs[i]; (folder || !one.folder) && g.matchParts(one.parts, parts) {
			return !one.keep
		}
	}
	return false
}

// match compares one name. Of a pattern with stars the letters around them tell
// most names apart; else each star may be tried at each letter of the name.
func (g *ignoring) match(pattern, name string) bool {
	g.effort++
	if first := strings.IndexByte(pattern, '*'); first >= 0 && !strings.ContainsAny(pattern, "?[\\") {
		last := strings.LastIndexByte(pattern, '*')
		if !strings.HasPrefix(name, pattern[:first]) || !strings.HasSuffix(name, pattern[last+1:]) {
			return false
		}
	}
	if strings.ContainsAny(pattern, "*[") {
		g.effort += len(pattern) * len(name)
	}
	ok, _ := path.Match(pattern, name) // malformed ones are left out before
	return ok
}

// matchParts goes back to the last "**" only.
func (g *ignoring) matchParts(pattern, parts []string) bool {
	if len(pattern) == 2 && pattern[0] == "**" && pattern[1] != "**" {
		return g.match(pattern[1], parts[len(parts)-1])
	}
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(parts) {
		if p < len(pattern) && pattern[p] == "**" {
			star, mark = p, i
			p++
			continue
		}
		if p < len(pattern) {
			if g.match(pattern[p], parts[i]) {
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
