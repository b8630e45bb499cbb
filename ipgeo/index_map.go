//go:build unix

package ipgeo

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// forget releases the memory of a mapping. Later reads come from the file again.
func forget(data []byte) { _ = unix.Madvise(data, unix.MADV_DONTNEED) } // a hint

// mapFile maps a file into memory for reading.
func mapFile(f *os.File, size int) (data []byte, unmap func([]byte) error, err error) {
	data, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	return data, syscall.Munmap, err
}

// isInvalid reports whether the system refused a call for this kind of file:
// some file systems cannot sync a directory, and do not need to.
func isInvalid(err error) bool { return errors.Is(err, syscall.EINVAL) }
