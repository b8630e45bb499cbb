package pebblestore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system of a table's database. The engine (Pebble) ends the process if it cannot
// write its log or its list of files (the MANIFEST), and retries other writes for ever. So a disk
// hides failures from the engine. After the first failure, no operation of the engine reaches the
// files any more, and the files stay as after a crash at that moment. Later writes of the engine go
// to memory, and are lost with it. A commit is acknowledged only after a check of the method
// failure.
type disk struct {
	vfs.FS
	dir    string      // of the database
	ledger *ledger     // nil if nothing is written
	begun  atomic.Bool // the engine has written something since it was opened

	sizes sync.Map // bytes of sorted files when they were first seen, by path

	failed atomic.Pointer[error]
	after  *vfs.MemFS // the writes after the failure
}

func newDisk(fsys vfs.FS, dir string) (*disk, error) {
	d := &disk{FS: fsys, dir: dir, after: vfs.NewMem()}
	return d, d.after.MkdirAll(dir, 0o755)
}

// errRefused is matched by the errors of writes after the disk has refused a write.
var errRefused = errors.New("the disk has refused a write: this table takes no writes until it is recovered")

func (d *disk) failure() error {
	if err := d.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (d *disk) fail(err error) {
	err = fmt.Errorf("%w: %w", errRefused, noSpace(err))
	d.failed.CompareAndSwap(nil, &err)
}

// noSpace makes an error for lack of room match ErrNoSpace.
func noSpace(err error) error {
	if !errors.Is(err, cellstore.ErrNoSpace) && (cellstore.IsNoSpace(err) || vfs.IsNoSpaceError(err)) {
		return fmt.Errorf("%w: %w", cellstore.ErrNoSpace, err)
	}
	return err
}

// own reports whether a file belongs to the database. Others, such as files of a copy,
// do not concern the disk.
func (d *disk) own(name string) bool { return d.FS.PathDir(name) == d.dir }

// sorted reports whether a file is one of the sorted files of a database, or of their values.
func sorted(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// see records the size of a sorted file, and returns an error if the file had another size before.
// The engine compares sizes when it opens a database, but opens the files only when it needs them.
// A file that has replaced another one meanwhile may be intact by itself. Without this check its
// rows would count as rows of the database.
func (d *disk) see(name string, info vfs.FileInfo) error {
	if was, seen := d.sizes.LoadOrStore(name, info.Size()); seen && was != info.Size() {
		return fmt.Errorf("%w: %s has %d bytes, and had %d when the table was opened", cellstore.ErrCorrupt, name, info.Size(), was)
	}
	return nil
}

// Create implements vfs.FS.
func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if !d.own(name) {
		return d.FS.Create(name, c)
	}
	d.begun.Store(true)
	if d.failure() == nil {
		var err error
		if strings.HasPrefix(d.FS.PathBase(name), "marker.") {
			// This file names the current list of files. That list must be on the disk before this
			// file.
			err = syncDir(d, d.dir)
		}
		var f vfs.File
		if err == nil {
			f, err = d.FS.Create(name, c)
		}
		if err == nil {
			return d.wrap(name, f), nil
		}
		d.fail(err)
	}
	// A compaction into memory would fill it, because the engine retries a compaction at once and
	// for ever.
	if c == "pebble-compaction" || c == "pebble-blob-file-rewrite" {
		time.Sleep(100 * time.Millisecond)
		return nil, d.failure()
	}
	f, err := d.after.Create(name, c)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *disk) wrap(name string, f vfs.File) vfs.File {
	w := &diskFile{File: f, d: d, name: name}
	switch base := d.FS.PathBase(name); {
	case ledgered(base):
		w.entry = d.ledger.begin(base)
	case sorted(base):
		w.read = true
	}
	return w
}

// ReuseForWrite implements vfs.FS. A log takes only as much space as its content, so no log is
// reused.
func (d *disk) ReuseForWrite(oldName, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.Remove(oldName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return d.Create(name, c)
}

// Remove implements vfs.FS.
func (d *disk) Remove(name string) error {
	if !d.own(name) {
		return d.FS.Remove(name)
	}
	if d.failure() == nil {
		// This is first, because the ledger must not name a missing file.
		if err := d.ledger.remove(d.FS.PathBase(name)); err == nil {
			d.sizes.Delete(name)
			return d.FS.Remove(name)
		} else {
			d.fail(err)
		}
	}
	_ = d.after.Remove(name)
	return nil
}

// Rename implements vfs.FS.
func (d *disk) Rename(oldName, name string) error {
	if !d.own(name) {
		return d.FS.Rename(oldName, name)
	}
	if d.failure() == nil {
		var err error
		if base := d.FS.PathBase(name); isOptions(base) {
			err = d.ledger.announce(base)
		}
		if err == nil {
			err = d.FS.Rename(oldName, name)
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return err
		}
		d.fail(err)
	}
	_ = d.after.Rename(oldName, name)
	return nil
}

// errNoLinks makes the engine copy a file instead of linking it. It must not match
// fs.ErrPermission, the error of file systems without links: after that error the engine does not
// copy the file.
var errNoLinks = errors.New("the file system makes no links")

// Link implements vfs.FS.
func (d *disk) Link(oldName, name string) error {
	if err := d.failure(); err != nil && d.own(name) {
		return fmt.Errorf("%w: %w", fs.ErrPermission, err) // not to be copied
	}
	err := d.FS.Link(oldName, name)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errNoLinks
}

// List implements vfs.FS. While the database is being opened, the engine already works in the
// background. If the list of its files failed at that time, the engine would close itself during
// that work, and that ends the process. Instead the disk takes no more writes, and List returns no
// files, so that none is removed.
func (d *disk) List(dir string) ([]string, error) {
	names, err := d.FS.List(dir)
	if err == nil || dir != d.dir || !d.begun.Load() {
		return names, err
	}
	d.fail(err)
	return nil, nil
}

// Open implements vfs.FS.
func (d *disk) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if d.failure() != nil && d.own(name) {
		if f, err := d.after.Open(name, opts...); err == nil {
			return f, nil
		}
	}
	f, err := d.FS.Open(name, opts...)
	if err != nil || !d.own(name) || !sorted(name) {
		return f, err
	}
	info, err := f.Stat()
	if err == nil {
		err = d.see(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenDir implements vfs.FS.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	switch {
	case err != nil:
		return nil, err
	case name != d.dir:
		return directory{f}, nil
	}
	return &diskFile{File: directory{f}, d: d, isDir: true}, nil
}

// Stat implements vfs.FS.
func (d *disk) Stat(name string) (vfs.FileInfo, error) {
	if d.failure() != nil && d.own(name) {
		if info, err := d.after.Stat(name); err == nil {
			return info, nil
		}
	}
	info, err := d.FS.Stat(name)
	if err == nil && d.own(name) && sorted(name) {
		_ = d.see(name, info) // the engine compares it, or opens the file
	}
	return info, err
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

// diskFile is a file that is written, or the directory of the database.
type diskFile struct {
	vfs.File
	d     *disk
	name  string
	entry *entry // of a log or a list of files
	read  bool   // the engine reads it soon, so a lost write must fail
	isDir bool
}

// try does something to the file unless the disk has failed.
func (f *diskFile) try(do func() error) error {
	if f.d.failure() == nil {
		err := do()
		if err == nil {
			return nil
		}
		f.d.fail(err)
	}
	if f.read {
		return f.d.failure()
	}
	return nil
}

func (f *diskFile) Write(p []byte) (int, error) {
	n := len(p)
	err := f.try(func() error {
		f.entry.wrote(p) // before Write, which may change p; nothing is synchronised after a failure
		_, err := f.File.Write(p)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (f *diskFile) sync(do func() error) error {
	return f.try(func() error {
		written := f.entry.written()
		var names []*entry
		if f.isDir {
			names = f.d.ledger.unlisted()
		}
		if err := do(); err != nil {
			return err
		}
		return cmp.Or(f.entry.synced(written), f.d.ledger.list(names))
	})
}

func (f *diskFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *diskFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *diskFile) SyncTo(length int64) (fullSync bool, err error) {
	err = f.try(func() (err error) {
		fullSync, err = f.File.SyncTo(length)
		return err
	})
	return fullSync, err
}

// Preallocate does nothing. The engine would reserve the space of a full log for each table, and
// some file systems cannot reserve space.
func (f *diskFile) Preallocate(int64, int64) error { return nil }

// Close closes the file in any case.
func (f *diskFile) Close() error {
	err := f.File.Close()
	f.d.sizes.Delete(f.name) // it may have been seen before its end was written
	return f.try(func() error { return err })
}
