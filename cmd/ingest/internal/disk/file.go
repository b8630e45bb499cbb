package disk

import (
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
