//go:build !unix

package hbasetest

import "syscall"

// This system has no signals to halt a process. Sending these signals fails.
const (
	stopSignal     = syscall.Signal(19)
	continueSignal = syscall.Signal(18)
)

func attributes() *syscall.SysProcAttr { return nil }

func (p *Process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }
