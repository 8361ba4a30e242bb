package situ

import "syscall"

// boundToParent makes the kernel end situ when this process dies. Its own
// process group keeps a Ctrl-C on the terminal from reaching it twice.
func boundToParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
