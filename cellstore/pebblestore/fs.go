package pebblestore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readOnlyFS refuses every change. Its Lock succeeds without doing anything:
// unchanging files may have any number of readers, and a lock file would be a change.
type readOnlyFS struct{ vfs.FS }

type noLock struct{}

func (noLock) Close() error { return nil }

func denied(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
}

func (readOnlyFS) Lock(string) (io.Closer, error) { return noLock{}, nil }

func (readOnlyFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, denied("create", name)
}

func (readOnlyFS) Link(_, name string) error { return denied("link", name) }

func (readOnlyFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, denied("open", name)
}

func (readOnlyFS) Remove(name string) error { return denied("remove", name) }

func (readOnlyFS) RemoveAll(name string) error { return denied("remove", name) }

func (readOnlyFS) Rename(_, name string) error { return denied("rename", name) }

func (readOnlyFS) ReuseForWrite(_, name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, denied("open", name)
}

func (readOnlyFS) MkdirAll(name string, _ os.FileMode) error { return denied("mkdir", name) }

func (f readOnlyFS) Unwrap() vfs.FS { return f.FS }

func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(directory{d}.Sync(), d.Close())
}

// directory is a directory of a file system that may be unable to make it durable, such as some
// network file systems.
type directory struct{ vfs.File }

func (d directory) Sync() error {
	err := d.File.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

func (d directory) SyncData() error { return d.Sync() }

// makeDir creates a directory and its parents so that they survive a crash.
func makeDir(fsys vfs.FS, dir string) error {
	_, err := fsys.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := fsys.PathDir(dir)
	if parent != dir {
		if err := makeDir(fsys, parent); err != nil {
			return err
		}
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDir(fsys, parent)
}

func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// writeFile replaces a file atomically, even in a crash.
func writeFile(fsys vfs.FS, name string, data []byte) error {
	tmp := name + ".tmp"
	f, err := fsys.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return syncDir(fsys, fsys.PathDir(name))
}
