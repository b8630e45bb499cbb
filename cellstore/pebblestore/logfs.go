package pebblestore

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// logFS is the file system of a database. It keeps failures of its write-ahead
// log, a full disk for one, from the engine, which would end the process: the
// log ends where the first write failed, as in a crash, and the table takes no
// more writes. A commit is acknowledged only after a look at failure.
type logFS struct {
	vfs.FS
	failed atomic.Pointer[error]
}

// errLog is matched by what writes answer after a failure of the log.
var errLog = errors.New("the write-ahead log failed: this table takes no writes until the store is opened again")

func (l *logFS) failure() error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (l *logFS) fail(err error) {
	err = fmt.Errorf("%w: %w", errLog, err)
	l.failed.CompareAndSwap(nil, &err)
}

func (l *logFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return l.open(name, func() (vfs.File, error) { return l.FS.Create(name, c) })
}

func (l *logFS) ReuseForWrite(oldName, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return l.open(name, func() (vfs.File, error) { return l.FS.ReuseForWrite(oldName, name, c) })
}

// open wraps a new file if it is a log. After a failure no log follows the
// one that failed: in the middle of the logs its end would be damage.
func (l *logFS) open(name string, create func() (vfs.File, error)) (vfs.File, error) {
	if !strings.HasSuffix(name, ".log") {
		return create()
	}
	if l.failure() == nil {
		f, err := create()
		if err == nil {
			return &logFile{File: f, l: l}, nil
		}
		l.fail(err)
	}
	f, err := vfs.NewMem().Create("log", vfs.WriteCategoryUnspecified)
	return &logFile{File: f, l: l}, err
}

func (l *logFS) Unwrap() vfs.FS { return l.FS }

type logFile struct {
	vfs.File
	l *logFS
}

// try does something to the file unless the log has failed.
func (f *logFile) try(do func() error) error {
	if f.l.failure() == nil {
		if err := do(); err != nil {
			f.l.fail(err)
		}
	}
	return nil
}

func (f *logFile) Write(p []byte) (int, error) {
	return len(p), f.try(func() error {
		_, err := f.File.Write(p)
		return err
	})
}

// Close closes the file in any case.
func (f *logFile) Close() error {
	if err := f.File.Close(); err != nil {
		f.l.fail(err)
	}
	return nil
}

func (f *logFile) Sync() error     { return f.try(f.File.Sync) }
func (f *logFile) SyncData() error { return f.try(f.File.SyncData) }

func (f *logFile) SyncTo(length int64) (fullSync bool, err error) {
	err = f.try(func() (err error) {
		fullSync, err = f.File.SyncTo(length)
		return err
	})
	return fullSync, err
}

func (f *logFile) Preallocate(offset, length int64) error {
	return f.try(func() error { return f.File.Preallocate(offset, length) })
}
