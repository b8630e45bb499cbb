package hbasetest

import "syscall"

const (
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
)

// attributes gives a process a group of its own, so that an interrupt at the terminal does not
// reach it before the test has ended. The process dies if the test is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// signal reaches the whole group.
func (p *Process) signal(s syscall.Signal) error { return syscall.Kill(-p.cmd.Process.Pid, s) }
