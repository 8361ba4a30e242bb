package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// patience is how long a process may take to end when it is asked to.
const patience = 5 * time.Second

// process is one child. It dies with this process, however this one ends.
type process struct {
	name string
	log  string
	pid  int
	done chan struct{} // closed when it has ended
}

// startProcess starts a program whose output goes to the file log, after what
// an earlier process wrote there.
func startProcess(name, program string, flags []string, log string) (*process, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	cmd := exec.Command(program, flags...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = boundToParent()
	p := &process{name: name, log: log, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(p.done)
		defer output.Close()
		// The kernel ties a child to the thread that started it, so that thread
		// has to stay for as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.pid = cmd.Process.Pid
	return p, nil
}

// stop asks the process to end, makes it end if it does not, and waits.
func (p *process) stop() error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.done:
			return nil
		default:
		}
		if err := syscall.Kill(p.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop %s: %w", p.name, err)
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(patience):
		}
	}
	return fmt.Errorf("stop %s: process %d does not end", p.name, p.pid)
}

// ended is nil while the process runs; afterwards it says what the process
// wrote last.
func (p *process) ended() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	content, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Errorf("%s ended, and its log: %w", p.name, err)
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	tail := lines[max(0, len(lines)-5):]
	return fmt.Errorf("%s ended, its log %s ends with:\n%s", p.name, p.log, strings.Join(tail, "\n"))
}
