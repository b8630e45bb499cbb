//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package dataset

import (
	"os"
	"syscall"
)

// lockFile tries to lock an open file without waiting: errLocked when another
// open file, of this process or another one, holds it. The kernel drops the
// lock when the file is closed, so also when the process dies.
func lockFile(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EWOULDBLOCK:
			return errLocked
		case err != nil:
			return os.NewSyscallError("flock", err)
		default:
			return nil
		}
	}
}
