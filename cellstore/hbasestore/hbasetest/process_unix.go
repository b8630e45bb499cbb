//go:build unix && !linux

package hbasetest

import "syscall"

const (
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signal sends a signal to the whole process group.
func (p *Process) signal(s syscall.Signal) error { return syscall.Kill(-p.cmd.Process.Pid, s) }
