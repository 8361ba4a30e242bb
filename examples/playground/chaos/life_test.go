package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sirupsen/logrus"

	"situ.gitops/applier"
	situ "situ.gitops/applier/cluster"
	"situ.gitops/examples/playground/gitserver"
	"situ.gitops/sync/gitrepo"
	"situ.gitops/sync/manifest"
	"situ.gitops/sync/poller"
)

const clusterName = "chaos" // in notes

// life is one situ from its start to its end.
type life struct {
	door  *door
	cut   func() // ends it as a power cut would; it does not wait
	ask   func() // asks it to stop in good order
	ended sync.WaitGroup
	close func() error // after it has ended
}

// live begins a life. Nothing of an earlier one is known to it.
func (s *stage) live(fault fault) error {
	door, err := newDoor(s.cluster.Config(), s.ledger, fault)
	if err != nil {
		return err
	}
	door.look = s.judge.write
	kubeconfig, err := door.writeKubeconfig(s.dir, s.namespace)
	if err != nil {
		return err
	}
	s.judge.change(func(j *judge) { j.seen = nil })
	l := &life{door: door}
	door.kill = func() { l.cut() }
	begin := s.liveHere
	if s.script.program {
		begin = s.liveAsProgram
	}
	if err := begin(l, kubeconfig); err != nil {
		return err
	}
	s.life = l
	return nil
}

// liveHere wires situ as its serve command does.
func (s *stage) liveHere(l *life, kubeconfig string) error {
	ctx, cancel := context.WithCancel(s.ctx)
	log := logrus.New()
	log.SetOutput(s.log)
	log.SetLevel(logrus.DebugLevel)
	client, err := situ.New(ctx, situ.Options{Kubeconfig: kubeconfig, Log: log})
	if err != nil {
		cancel()
		return err
	}
	repo, err := gitrepo.Open(ctx, gitrepo.Options{URL: s.gitDoor.server.URL + "/shop.git", Branch: gitserver.Branch,
		Notes: gitrepo.Notes{Cluster: clusterName, Instance: s.namespace}})
	if err != nil {
		cancel()
		return err
	}
	schedule, err := poller.ParseSchedule("@every 1s")
	if err != nil {
		cancel()
		return err
	}
	var dead atomic.Bool
	settler := &applier.Applier{Cluster: client, Log: log, Decide: s.judge.decide}
	source := &poller.Git{Repo: repo, Parser: &manifest.Parser{}}
	loop := &poller.Loop{Source: source, Settler: settler, Notes: mortal{repo, &dead}, Cluster: clusterName, Schedule: schedule, Log: log}
	l.ask = cancel
	l.cut = func() {
		dead.Store(true)
		l.door.shut()
		cancel()
	}
	l.close = func() error {
		client.Close()
		return repo.Close()
	}
	l.ended.Go(func() { loop.Run(ctx) })
	return nil
}

// mortal takes no notes of a life that was cut off.
type mortal struct {
	poller.Notes
	dead *atomic.Bool
}

func (m mortal) WriteNote(ctx context.Context, commit string, merge func([]byte) []byte) error {
	if m.dead.Load() {
		return errors.New("dead")
	}
	return m.Notes.WriteNote(ctx, commit, merge)
}

// liveAsProgram starts situ serve.
func (s *stage) liveAsProgram(l *life, kubeconfig string) error {
	cmd := exec.CommandContext(s.ctx, s.situ, "serve")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "SITU_REPO="+s.gitDoor.server.URL+"/shop.git", "SITU_BRANCH="+gitserver.Branch,
		"SITU_CLUSTER="+clusterName, "SITU_SCHEDULE=@every 1s", "SITU_LISTEN=off", "SITU_LOG_LEVEL=debug")
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		return err
	}
	l.cut = func() {
		l.door.shut()
		_ = cmd.Process.Kill() // it may have ended already
	}
	l.ask = func() { _ = cmd.Process.Signal(syscall.SIGTERM) }
	l.close = func() error { return nil }
	l.ended.Go(func() {
		if err := cmd.Wait(); err != nil && !l.door.isDead() && s.ctx.Err() == nil {
			s.judge.accuse("the program ended by itself: %v", err)
		}
	})
	return nil
}

// kill cuts a life off, if it still lives, and waits for what is left of it.
func (l *life) kill() error {
	l.cut()
	return l.bury()
}

// stop ends a life in good order; what it has open stays so until bury.
func (l *life) stop() {
	l.ask()
	l.ended.Wait()
}

// bury waits for the end of a life and closes what it has open.
func (l *life) bury() error {
	l.ended.Wait()
	err := l.close()
	l.door.server.CloseClientConnections()
	l.door.server.Close()
	if err != nil {
		return fmt.Errorf("end a life: %w", err)
	}
	return nil
}
