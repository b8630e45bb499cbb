//go:build !unix

package ipgeo

import (
	"io"
	"os"
)

// mapFile reads a file into memory.
func mapFile(f *os.File, size int) (data []byte, unmap func([]byte) error, err error) {
	data = make([]byte, size)
	_, err = io.ReadFull(f, data)
	return data, func([]byte) error { return nil }, err
}

// forget keeps data, because it cannot be read again.
func forget([]byte) {}

// isInvalid reports whether the system refused to sync a directory. Systems
// without mmap cannot do it.
func isInvalid(error) bool { return true }
