//go:build unix

package damagetest

import (
	"os"
	"syscall"
	"testing"
)

// LimitFiles lets the process open at most more further files, until lift is called.
func LimitFiles(t testing.TB, more uint64) (lift func()) {
	t.Helper()
	var was syscall.Rlimit
	first, err := os.Open(os.DevNull) // the first number that is free
	if err == nil {
		err = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was)
	}
	if err != nil {
		t.Fatal(err)
	}
	limit := was
	limit.Cur = uint64(first.Fd()) + more
	_ = first.Close() // nothing was written
	lift = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(lift)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return lift
}
