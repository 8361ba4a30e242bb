package realnode

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	readyTimeout = 90 * time.Second
	readyPoll    = 50 * time.Millisecond
	// killAfter is how long a process may take to end when asked to.
	killAfter = 10 * time.Second
	// logTail is how many lines of its log an error about a process quotes.
	logTail = 12
)

// process is a program that runs until it is stopped. It dies with us.
type process struct {
	name    string
	logFile string
	cmd     *exec.Cmd
	// done is closed when the process has ended and been waited for.
	done chan struct{}
}

// run starts a program whose output goes to the file NAME.log in logs.
func run(name, logs, program string, args ...string) (*process, error) {
	p := &process{
		name:    name,
		logFile: filepath.Join(logs, name+".log"),
		cmd:     exec.Command(program, args...),
		done:    make(chan struct{}),
	}
	log, err := os.Create(p.logFile)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// Its own group, so that Ctrl-C reaches us first and the order of stopping is ours.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	started := make(chan error, 1)
	go func() {
		// Pdeathsig follows the thread that started the process: keep it alive as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		defer log.Close()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.cmd.Wait() //nolint:errcheck // how it ended is in its log
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	return p, nil
}

// await returns when ready does without an error. It fails with the end of the
// process's log when the process ends first or the time is up.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready (%v); the end of its log:\n%s", p.name, p.cmd.ProcessState, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; the end of its log:\n%s", p.name, err, p.tail())
		case <-ticker.C:
		}
	}
}

// stop asks the process to end, and kills it when it takes too long or ctx ends.
func (p *process) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, killAfter)
	defer cancel()
	select {
	case <-p.done:
		return nil // it has ended by itself; signalling would hit a stranger
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && err != os.ErrProcessDone {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	if err := p.cmd.Process.Kill(); err != nil && err != os.ErrProcessDone {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.done
	return nil
}

func (p *process) tail() string {
	content, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	if len(lines) > logTail {
		lines = lines[len(lines)-logTail:]
	}
	return strings.ToValidUTF8(string(bytes.Join(lines, []byte("\n"))), "?")
}
