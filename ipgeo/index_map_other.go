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

// isInvalid reports whether the system refused to sync a directory, as those
// do that have no such thing.
func isInvalid(error) bool { return true }
