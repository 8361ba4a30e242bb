package manifest

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"situ.gitops/planner"
)

// ignoreFile lists, at the root of the source, what is not for the cluster.
const ignoreFile = ".situignore"

const (
	kustomizeText = "is a kustomization, and situ does not build these: nothing in this folder is applied; " +
		"commit the output of \"kustomize build\" elsewhere, or list this file in " + ignoreFile + " to apply the files beside it as they are"
	chartText = "is a Helm chart, and situ does not render these: nothing in this folder is applied; " +
		"commit the output of \"helm template\" elsewhere, and list this folder in " + ignoreFile
)

// choose picks the files that hold manifests, in the order of their paths.
func choose(root string, files []File) ([]File, []planner.Problem) {
	patterns, problems := readIgnore(root, files)
	ignored := &ignoring{globs: patterns, folders: map[string]bool{}}
	var chosen []File
	sources := map[string]bool{} // folders whose files are input for another tool
	for _, f := range files {
		if ignored.matches(below(root, f.Path)) {
			continue
		}
		if text := toolOf(f.Path); text != "" {
			sources[path.Dir(f.Path)] = true
			problems = append(problems, planner.Problem{Origin: planner.Origin{File: f.Path}, Text: text})
			continue
		}
		if isManifest(f.Path) {
			chosen = append(chosen, f)
		}
	}
	if ignored.exhausted() {
		problems = append(problems, planner.Problem{Origin: planner.Origin{File: path.Join(root, ignoreFile)},
			Text: "its patterns take too long on so many files, and the rest of these is left out: ignore folders instead of files, and use fewer *"})
	}
	chosen = slices.DeleteFunc(chosen, func(f File) bool { return under(sources, f.Path) })
	slices.SortFunc(chosen, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return chosen, problems
}

func readIgnore(root string, files []File) (globs, []planner.Problem) {
	for _, f := range files {
		if below(root, f.Path) == ignoreFile {
			return parseGlobs(f)
		}
	}
	return nil, nil
}

// toolOf says what is to be done about a file that is input for another tool,
// "" for all others.
func toolOf(file string) string {
	switch path.Base(file) {
	case "kustomization.yaml", "kustomization.yml":
		return kustomizeText
	case "Chart.yaml":
		return chartText
	}
	return ""
}

// below is the path seen from the root of the source.
func below(root, file string) string {
	if rest, ok := strings.CutPrefix(file, strings.Trim(root, "/")+"/"); ok {
		return rest
	}
	return file
}

// under says whether one of the folders holds the file, at any depth.
func under(folders map[string]bool, file string) bool {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if folders[dir] {
			return true
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

func isManifest(file string) bool {
	switch path.Ext(file) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func isJSON(file string) bool { return path.Ext(file) == ".json" }
