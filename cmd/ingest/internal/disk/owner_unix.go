//go:build unix

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner and the group of another file, or what the process may of the two.
func keepOwner(f *os.File, of fs.FileInfo) {
	stat, ok := of.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if f.Chown(int(stat.Uid), int(stat.Gid)) != nil {
		_ = f.Chown(-1, int(stat.Gid)) // only root gives files away
	}
}
