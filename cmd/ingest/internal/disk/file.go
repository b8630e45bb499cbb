package disk

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// CreateBeside creates an empty file beside the one that path names, or that a symbolic link there
// points at. Publish gives it that name. Unlike a temporary file, it has the permissions that the
// umask of the process allows. If there is a file already, only the owner may read the new one until
// it gets the name. What is no file, such as a device or a directory, is refused.
func CreateBeside(path string) (*os.File, error) {
	target, old, err := targetOf(path)
	if err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600
	}
	name := filepath.Join(filepath.Dir(target), fmt.Sprintf(".%s.tmp-%d", filepath.Base(target), rand.Uint64()))
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

// Publish syncs and closes f, a finished file from CreateBeside for the same path, and renames it. It
// replaces an older file there, whose permissions and, as far as the process may give it away,
// owner the new one gets. After an error the older file is as before.
func Publish(f *os.File, path string) error {
	target, old, err := targetOf(path)
	if err != nil {
		return err
	}
	if old != nil {
		keepOwner(f, old)
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}

// Discard closes a file from CreateBeside, or a temporary one, and removes it. It does nothing with
// nil or a published file.
func Discard(f *os.File) error {
	if f == nil {
		return nil
	}
	err := f.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	if rerr := os.Remove(f.Name()); !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// maxLinks bounds the links that lead to a file.
const maxLinks = 40

// targetOf follows symbolic links to the file that path names, which need not exist. old describes it
// if it does.
func targetOf(path string) (target string, old fs.FileInfo, err error) {
	for range maxLinks {
		// The directory may be a link itself, so .. is not removed from the text.
		dir, base := filepath.Split(path)
		if dir, err = filepath.EvalSymlinks(cmp.Or(dir, ".")); err != nil {
			return "", nil, err
		}
		path = filepath.Join(dir, base)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil, nil
		case err != nil:
			return "", nil, err
		case info.Mode()&fs.ModeSymlink == 0 && !info.Mode().IsRegular():
			return "", nil, fmt.Errorf("%s is not a regular file: name one", path)
		case info.Mode()&fs.ModeSymlink == 0:
			return path, info, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", nil, err
		}
		if !filepath.IsAbs(to) {
			to = dir + string(filepath.Separator) + to
		}
		path = to
	}
	return "", nil, fmt.Errorf("%s: too many symbolic links", path)
}

// Pending is a file that is written sequentially and gets its name when it is complete. One goroutine
// uses it.
type Pending struct {
	*bufio.Writer
	file *os.File
	path string
}

// CreatePending creates the file beside path.
func CreatePending(path string) (*Pending, error) {
	f, err := CreateBeside(path)
	if err != nil {
		return nil, err
	}
	return &Pending{bufio.NewWriterSize(f, 1<<20), f, path}, nil
}

// Finish gives the file its name if err is nil. Otherwise, or if that fails, it removes the file. It returns
// err, or else why it failed.
func (p *Pending) Finish(err error) error {
	if err == nil {
		err = p.Flush()
	}
	if err == nil {
		err = Publish(p.file, p.path)
	}
	if err != nil {
		err = errors.Join(err, Discard(p.file))
	}
	return err
}
