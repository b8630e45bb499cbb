package dataset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// readFile reads a whole file, and refuses a file that is not small.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

func readAll(f *os.File) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxManifest {
		return nil, fmt.Errorf("%s is over %d bytes: it is not what it should be, restore it", f.Name(), maxManifest)
	}
	return b, nil
}

// replaceFile replaces the content of path. A reader, or a restart after a crash, sees the whole
// old or the whole new content. The step function is called between the steps. The temporary name
// is fixed: callers hold a lock, and the next call overwrites the remains of a crash.
func replaceFile(path string, b []byte, step func(string) error) (visible bool, err error) {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return false, err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = step("written")
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return false, err
	}
	if err := step("renamed"); err != nil {
		return true, err
	}
	return true, syncDir(filepath.Dir(path))
}

// syncDir makes the names in a directory durable. It ignores file systems that cannot sync a
// directory: they do not need it, or there is no other way.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// diskBytes returns the disk space of a directory and all beneath it, as du counts it, or 0 if it
// cannot be determined.
func diskBytes(dir string) (n int64) {
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += allocated(info)
		}
		return err
	})
	if err != nil {
		return 0
	}
	return n
}

// walk calls fn for every file under dir, in lexical order, with its path relative to dir. Anything
// but directories and regular files is an error: because it could not be checked, copied or served
// safely.
func walk(dir string, fn func(rel string, isDir bool) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory: a generation holds nothing else", path)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return fn(rel, d.IsDir())
	})
}
