//go:build unix

package dataset

import (
	"io/fs"
	"syscall"
)

// allocated returns the space that a file takes on the disk. POSIX leaves the unit open; all
// systems that Go runs on count blocks of 512 bytes.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
