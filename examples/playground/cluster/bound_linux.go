package cluster

import "syscall"

// boundToParent makes the kernel kill the child when this process dies. Its own
// process group keeps a Ctrl-C on the terminal from reaching it before Stop
// ends the processes in their order.
func boundToParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
