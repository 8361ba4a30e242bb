//go:build !linux

package situ

import "syscall"

// boundToParent leaves situ behind if this process is killed: only Linux can
// tie them together.
func boundToParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
