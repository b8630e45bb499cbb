//go:build darwin || linux

package fetch

import "syscall"

// freeBytes is how many bytes may still be written below a directory; ok is false
// where that is not known.
func freeBytes(dir string) (n uint64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
