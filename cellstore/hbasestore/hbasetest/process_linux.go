package hbasetest

import "syscall"

const (
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
)

// attributes returns the attributes of a process with its own process group, so that an interrupt
// at the terminal does not reach the process before the test has ended. The process dies if the
// test is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// signal sends a signal to the whole process group.
func (p *Process) signal(s syscall.Signal) error { return syscall.Kill(-p.cmd.Process.Pid, s) }
