package demo

import (
	"context"
	"errors"
	"os/exec"
	"strings"
)

// notesRefs fetches the notes, which git does not by itself.
const notesRefs = "+refs/notes/situ/*:refs/notes/situ/*"

// play makes one commit and shows what becomes of it.
func (d *Demo) play(ctx context.Context, a act) error {
	d.screen.say(a.tells)
	before, err := d.pods(ctx, a.workload)
	if err != nil {
		return err
	}
	if err := d.commit(ctx, a); err != nil {
		return err
	}
	d.screen.say("What would happen:")
	d.screen.commands("situ plan")
	if err := d.plan(ctx); err != nil {
		return err
	}
	d.screen.say("Do it:")
	d.screen.commands("situ sync")
	if err := d.situ.Run(ctx, "sync"); err != nil {
		return err
	}
	after, err := d.pods(ctx, a.workload)
	if err != nil {
		return err
	}
	d.screen.say("The pods before and after:\n")
	d.screen.pods(before, after)
	d.screen.say(verdict(before, after) + "\n" + a.explains)
	return d.note(ctx)
}

// commit commits and pushes the act's edit and shows it.
func (d *Demo) commit(ctx context.Context, a act) error {
	here := strings.NewReplacer("REGISTRY", d.Registry)
	change := edit{a.edit.file, here.Replace(a.edit.old), here.Replace(a.edit.new)}
	files, err := change.apply(d.repository.Work)
	if err != nil {
		return err
	}
	if _, err := d.repository.Commit(ctx, a.message, files); err != nil {
		return err
	}
	diff, err := d.repository.Git(ctx, "show", "--format=", "--unified=1", "--no-color")
	if err != nil {
		return err
	}
	d.screen.commands("git commit -am '" + a.message + "' && git push")
	d.screen.diff(diff)
	return nil
}

// plan shows the plan. A plan that has something to do ends with an exit code.
func (d *Demo) plan(ctx context.Context) error {
	const changes = 1
	err := d.situ.Run(ctx, "plan")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == changes {
		return nil
	}
	return err
}

// note shows what stands on the newest commit, as a clone of anybody's shows it.
func (d *Demo) note(ctx context.Context) error {
	if _, err := d.repository.Git(ctx, "fetch", "--quiet", "origin", notesRefs); err != nil {
		return err
	}
	log, err := d.repository.Git(ctx, "log", "-1", "--no-color", "--notes=situ/*")
	if err != nil {
		return err
	}
	d.screen.say("The note that situ left on the commit:")
	d.screen.commands("git fetch origin '"+notesRefs+"'", "git log -1 --notes='situ/*'")
	d.screen.text(withoutKept(log))
	return nil
}

// withoutKept leaves the workloads out of a note that the commit did not touch.
func withoutKept(log string) string {
	const item = "      - apiVersion:"
	parts := strings.Split(log, "\n"+item)
	kept := 0
	shown := parts[:1]
	for _, part := range parts[1:] {
		if strings.Contains(part, "verdict: keep") {
			kept++
			continue
		}
		shown = append(shown, part)
	}
	text := strings.Join(shown, "\n"+item)
	if kept > 0 {
		text += "\n" + plural(kept, "      (and %d workload that was kept, left out here)", "      (and %d workloads that were kept, left out here)")
	}
	return text
}
