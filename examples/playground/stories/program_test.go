package stories

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// teller runs programs on a stage, for the stories that are told in Go.
type teller struct {
	*testing.T
	*story
	dir string
}

// newTeller sets a stage up for a test of its own.
func newTeller(t *testing.T, g *ground) teller {
	t.Helper()
	dir := t.TempDir()
	s, err := newStory(t.Context(), g, dir, t.Cleanup)
	check(t, err)
	return teller{t, s, dir}
}

// commit pushes one manifest.
func (t teller) commit(message, manifest string) {
	t.Helper()
	_, err := t.repository.Commit(t.story.ctx, message, map[string]string{"app.yaml": manifest})
	check(t.T, err)
}

// command is a program with the story's variables, and more of them.
func (t teller) command(ctx context.Context, program string, variables []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.dir
	cmd.Env = os.Environ()
	for name, value := range t.variables(t.dir) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, variables...)
	return cmd
}

// run runs a program to a good end and returns what it said.
func (t teller) run(program string, args ...string) string {
	t.Helper()
	out, err := t.command(t.story.ctx, program, nil, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// syncUntil runs situ sync with a fault, and tells whether it was killed there.
// Ending in any other way but well is an error.
func (t teller) syncUntil(fault string) bool {
	t.Helper()
	cmd := t.command(t.story.ctx, "situ", []string{"SITU_FAULT=" + fault}, "sync")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err == nil {
		return false
	}
	if cmd.ProcessState.ExitCode() != -1 { // which is what a signal gives
		t.Fatalf("situ sync with the fault %s: %v\n%s", fault, err, out.String())
	}
	return true
}

// refs are all refs of the repository with what they point at, and how much is
// stored in it: nothing can be written without a trace in them.
func (t teller) refs() string {
	t.Helper()
	refs := t.run("git", "-C", t.repository.Bare, "for-each-ref")
	files, err := filepath.Glob(filepath.Join(t.repository.Bare, "objects", "*", "*"))
	check(t.T, err)
	return fmt.Sprintf("%s%d files of objects", refs, len(files))
}
