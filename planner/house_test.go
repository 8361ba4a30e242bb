package planner_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "situ.gitops"

// floors are the house from the top down. A package imports only from floors
// below its own, and from folders within its own.
var floors = [][]string{
	{"cmd"},
	{"sync/poller"},
	{"sync/gitrepo", "sync/manifest"},
	{"applier"},
	{"planner/kruise"},
	{"planner"},
}

// doors are the packages that alone may import what leads to an outside world.
var doors = map[string]string{
	"github.com/go-git":     "sync/gitrepo",
	"k8s.io/client-go":      "applier/cluster",
	"sigs.k8s.io/cli-utils": "applier/cluster",
	"github.com/robfig":     "sync/poller",
}

// pure packages are functions of their input alone.
var pure = []string{"planner", "planner/kruise", "sync/manifest"}

// impure leads to files, networks, logs, waiting or chance.
var impure = []string{
	"context", "crypto/rand", "io/fs", "io/ioutil", "log", "math/rand", "net", "os", "path/filepath", "runtime", "sync", "syscall", "unsafe",
	"github.com/sirupsen/logrus", "k8s.io/klog",
}

var topLevel = []string{
	"Dockerfile", "README.md", "applier", "cmd", "examples", "go.mod", "go.sum", "planner", "sync",
	".ci", ".dockerignore", ".git", ".gitignore", ".golangci.yml",
}

// source is one Go file, at its path from the top of the module.
type source struct {
	path string
	file *ast.File
}

func (s source) pkg() string  { return path.Dir(s.path) }
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }
func (s source) isPure() bool { return slices.Contains(pure, s.pkg()) && !s.isTest() }

// names are the packages that the file imports.
func (s source) names() []string {
	var names []string
	for _, spec := range s.file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			names = append(names, name)
		}
	}
	return names
}

// laws are what holds for every Go file of the module.
var laws = []struct {
	name   string
	broken func(source) []string
}{
	{"imports point down only", climbs},
	{"each outside world has one door", sneaksIn},
	{"pure packages do no I/O", leaks},
	{"pure packages read no clock", readsClock},
	{"pure packages keep no state", keepsState},
	{"sync is a floor and no package", blocksTheStairs},
}

func TestTheHouseStands(t *testing.T) {
	sources := readModule(t, "..")
	for _, law := range laws {
		t.Run(law.name, func(t *testing.T) {
			for _, s := range sources {
				for _, text := range law.broken(s) {
					t.Errorf("%s %s", s.path, text)
				}
			}
		})
	}
}

func TestTheTopLevelHoldsNothingElse(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if text := strays(e.Name()); text != "" {
			t.Error(text)
		}
	}
}

func strays(entry string) string {
	if slices.Contains(topLevel, entry) {
		return ""
	}
	return fmt.Sprintf("%s does not belong at the top level; it has %s", entry, strings.Join(topLevel, " "))
}

// readModule parses all Go files below root, but for nested modules.
func readModule(t *testing.T, root string) []source {
	t.Helper()
	var sources []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != root && (nested(name) || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		sources = append(sources, source{filepath.ToSlash(rel), file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) < 20 {
		t.Fatalf("readModule found %d Go files, want the whole module", len(sources))
	}
	return sources
}

func nested(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
