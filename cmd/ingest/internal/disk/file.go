package disk

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// CreateBeside creates an empty file beside path. Publish gives it that name.
// Unlike a temporary file, it has the permissions that the umask of the process
// allows.
func CreateBeside(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.tmp-%d", filepath.Base(path), rand.Uint64()))
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

// Publish syncs f, a finished file from CreateBeside, and renames it to path. It replaces an older
// file there.
func Publish(f *os.File, path string) error {
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
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
	if cerr := p.file.Close(); err == nil {
		return cerr
	}
	if rerr := os.Remove(p.file.Name()); !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}
