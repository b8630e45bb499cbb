//go:build !unix

package hbasetest

import "syscall"

// There are no such signals to halt a process; sending these fails.
const (
	stopSignal     = syscall.Signal(19)
	continueSignal = syscall.Signal(18)
)

func attributes() *syscall.SysProcAttr { return nil }

func (p *Process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }
