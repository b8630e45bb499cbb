//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package filelock

import (
	"errors"
	"os"
)

// lock returns an error, because this system has no file locks that end with their process.
func lock(f *os.File, _ bool) error {
	return unsupported(f, errors.New("this system has no flock"))
}
