//go:build darwin || linux

// Package disk reports free space and publishes files atomically.
package disk

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Free returns how many bytes may still be written below a directory. If the
// directory does not exist yet, the nearest existing one above it counts. ok is
// false if the number is not known.
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
