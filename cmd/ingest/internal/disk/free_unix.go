//go:build darwin || linux

// Package disk tells what room there is.
package disk

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Free is how many bytes may still be written below a directory, or below the
// nearest one above it if it is still to be made. ok is false where that is not
// known.
func Free(dir string) (n uint64, ok bool) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &s)
	}
	if err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
