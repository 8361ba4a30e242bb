//go:build !linux

package cluster

import "syscall"

// boundToParent leaves children behind if this process is killed: only Linux
// can tie them together.
func boundToParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
