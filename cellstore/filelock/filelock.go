// Package filelock excludes programs that change the same files from each other.
//
// A lock belongs to the open file. The kernel drops the lock when the file is closed, so also when
// the process dies. On a file system without such locks, errors match [errors.ErrUnsupported] and
// say what to do. All functions may be called by any number of goroutines.
package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrLocked means that another open file, of this process or another, holds
// the lock.
var ErrLocked = errors.New("locked by another program")

// LockExclusive locks an open file against every other lock of it, without waiting.
// The file must be open for writing: NFS refuses the lock otherwise, with EBADF.
func LockExclusive(f *os.File) error { return lock(f, true) }

// LockShared locks an open file against exclusive locks, without waiting. The file
// must be open for reading.
func LockShared(f *os.File) error { return lock(f, false) }

// Open opens the file of a lock, creates it if it is missing, and locks it exclusively, without
// waiting.
func Open(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		same := false
		if err = LockExclusive(f); err == nil {
			same, err = NamesFile(f, path)
		}
		if same {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
}

// NamesFile reports whether path still names the open file. A lock on a file that has been removed or
// replaced does not exclude anyone.
func NamesFile(f *os.File, path string) (bool, error) {
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, now), err
}

// unsupported returns the error of systems without locks.
func unsupported(f *os.File, reason error) error {
	return fmt.Errorf("%w: %s cannot be locked, and without locks two programs could overwrite each other's work: "+
		"keep the directory on a local disk, or run the lock service of the network file system and mount it with locks (%w)",
		errors.ErrUnsupported, f.Name(), reason)
}
