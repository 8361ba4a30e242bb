package stories

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// verbs are what stories can say beside testscript's own words.
var verbs = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"commit":              commit,
	"example":             example,
	"exits":               exits,
	"let":                 let,
	"note":                note,
	"await":               await,
	"await-note":          awaitNote,
	"remember":            remember,
	"kept":                kept,
	"replaced":            replaced,
	"watched":             watched,
	"restart-controllers": restartControllers,
	"unserved":            unserved,
}

// expect ends the story if a verb is used wrongly.
func expect(ts *testscript.TestScript, right bool, usage string) {
	if !right {
		ts.Fatalf("usage: %s", usage)
	}
}

// commit pushes files of the story, their $VARIABLES replaced, as one commit.
// With -delete it takes them away.
func commit(ts *testscript.TestScript, neg bool, args []string) {
	remove := len(args) > 0 && args[0] == "-delete"
	if remove {
		args = args[1:]
	}
	expect(ts, !neg && len(args) >= 2, "commit [-delete] MESSAGE FILE...")
	files := map[string]string{}
	for _, name := range args[1:] {
		files[name] = ""
		if !remove {
			files[name] = os.Expand(ts.ReadFile(name), func(variable string) string {
				value := ts.Getenv(variable)
				if value == "" {
					ts.Fatalf("%s refers to $%s, which is not set", name, variable)
				}
				return value
			})
		}
	}
	s := of(ts)
	hash, err := s.repository.Commit(s.ctx, args[0], files)
	ts.Check(err)
	ts.Setenv("HEAD", hash)
}

// example commits files of the examples, with some words replaced: "app:v1=app:v2".
// Their registry is the story's.
func example(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "example MESSAGE FILE... [OLD=NEW...]"
	expect(ts, !neg && len(args) >= 2, usage)
	files := map[string]string{}
	words := []string{"registry.shop.test", ts.Getenv("REGISTRY")}
	for _, arg := range args[1:] {
		if from, to, ok := strings.Cut(arg, "="); ok {
			words = append(words, from, to)
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", "..", arg))
		ts.Check(err)
		files[filepath.Base(arg)] = string(text)
	}
	expect(ts, len(files) > 0, usage)
	all := strings.Join(slices.Collect(maps.Values(files)), "")
	for i := 0; i < len(words); i += 2 {
		if !strings.Contains(all, words[i]) {
			ts.Fatalf("no example here has %q", words[i])
		}
	}
	for name, text := range files {
		files[name] = strings.NewReplacer(words...).Replace(text)
	}
	s := of(ts)
	hash, err := s.repository.Commit(s.ctx, args[0], files)
	ts.Check(err)
	ts.Setenv("HEAD", hash)
}

// exits runs a program and wants this exit code, which is not 0.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) >= 2, "exits CODE PROGRAM [ARGUMENT...]")
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		ts.Fatalf("%s succeeded, want exit code %s", args[1], args[0])
	case !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0]:
		ts.Fatalf("%s: %v, want exit code %s", strings.Join(args[1:], " "), err, args[0])
	}
}

// let keeps what a program says in a variable.
func let(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) >= 2, "let VARIABLE PROGRAM [ARGUMENT...]")
	ts.Check(ts.Exec(args[1], args[2:]...))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// note shows what stands on a commit, read as any clone of the repository would.
func note(ts *testscript.TestScript, neg bool, args []string) {
	cluster, commit := "east", "HEAD"
	if len(args) > 0 && strings.HasPrefix(args[0], "-cluster=") {
		cluster, args = strings.TrimPrefix(args[0], "-cluster="), args[1:]
	}
	expect(ts, len(args) <= 1, "[!] note [-cluster=NAME] [COMMIT]")
	if len(args) == 1 {
		commit = args[0]
	}
	text, err := of(ts).note(cluster, commit)
	switch {
	case err == nil && neg:
		ts.Fatalf("%s has a note of %s, want none:\n%s", commit, cluster, text)
	case err != nil && !neg:
		ts.Fatalf("%s has no note of %s: %v", commit, cluster, err)
	}
	fmt.Fprintln(ts.Stdout(), text)
}

func (s *story) note(cluster, commit string) (string, error) {
	if _, err := s.repository.Git(s.ctx, "fetch", "--quiet", "origin", "+refs/notes/situ/*:refs/notes/situ/*"); err != nil {
		return "", err
	}
	return s.repository.Git(s.ctx, "notes", "--ref=situ/"+cluster, "show", commit)
}

// awaitNote waits until the commit's note has the text.
func awaitNote(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 2, "await-note COMMIT TEXT")
	s := of(ts)
	ts.Check(eventually(s.ctx, "a note on "+args[0]+" with "+args[1], func() (bool, error) {
		text, err := s.note("east", args[0])
		if err == nil && !strings.Contains(text, args[1]) {
			err = fmt.Errorf("it is\n%s", text)
		}
		return err == nil, err
	}))
}

// await waits until that many pods have been given the image.
func await(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 3, "await NUMBER SELECTOR IMAGE")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	s := of(ts)
	ts.Check(eventually(s.ctx, strings.Join(args, " "), func() (bool, error) {
		pods, err := s.pods(args[1])
		given := 0
		for _, pod := range pods {
			if hasImage(pod, args[2]) {
				given++
			}
		}
		return given >= n, err
	}))
}

// restartControllers ends every controller and starts them anew.
func restartControllers(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, !neg && len(args) == 0, "restart-controllers")
	s := of(ts)
	ts.Check(s.restartControllers(s.ctx))
}
