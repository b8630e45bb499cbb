//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package fetch

import (
	"os"
	"syscall"
)

// lockFile tries to lock an open file without waiting: ErrLocked when another
// open file holds it. The kernel drops the lock when the file is closed, so
// also when the process dies.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch err {
		case nil:
			return nil
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return ErrLocked
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}
