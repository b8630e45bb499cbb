package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// locked has the lock files that this process holds. The operating system's locks exclude other
// processes, but not other parts of this process. A store may have several names, by links to its
// directory and mounts.
var locked struct {
	sync.Mutex
	files map[*storeLock]os.FileInfo
}

type storeLock struct{ io.Closer }

// lockStore takes the lock of a store's directory. Errors match ErrLocked if another has it.
func lockStore(fsys vfs.FS, path string) (io.Closer, error) {
	locked.Lock()
	defer locked.Unlock()
	system := vfs.Root(fsys) == vfs.Default
	if info, err := os.Stat(path); system && err == nil {
		// Do not open the file again: closing it would give up the lock.
		for _, held := range locked.files {
			if os.SameFile(held, info) {
				return nil, fmt.Errorf("%w: this process has it open: use that store", cellstore.ErrLocked)
			}
		}
	}
	lock, err := fsys.Lock(path)
	if err != nil {
		return nil, lockError(err)
	}
	l := &storeLock{lock}
	if !system {
		return l, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if locked.files == nil {
		locked.files = map[*storeLock]os.FileInfo{}
	}
	locked.files[l] = info
	return l, nil
}

func lockError(err error) error {
	var path *fs.PathError
	var errno syscall.Errno
	switch {
	case errors.As(err, &path): // the lock file itself cannot be made
		return err
	case errors.As(err, &errno) && errno != syscall.EAGAIN && errno != syscall.EACCES:
		return fmt.Errorf("the file system gives no lock, without which two processes could write at once: "+
			"put the directory on a local disk, or let the file system lock files (on NFS: start lockd, or mount with "+
			"local_lock=all if one machine uses it): %w", err)
	}
	return fmt.Errorf("%w: close it there or open it read-only: %w", cellstore.ErrLocked, err)
}

// Close releases the lock.
func (l *storeLock) Close() error {
	locked.Lock()
	defer locked.Unlock()
	delete(locked.files, l)
	return l.Closer.Close()
}
