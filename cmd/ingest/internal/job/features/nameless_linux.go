package features

import (
	"fmt"
	"os"
)

// removeName removes the name of an open file, so that nothing of it stays however the program ends. It returns a path that
// opens the file as long as f is open, or false if there is none.
func removeName(f *os.File) (path string, ok bool) {
	path = fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	is, err := f.Stat()
	if err != nil {
		return "", false
	}
	if same, err := os.Stat(path); err != nil || !os.SameFile(is, same) {
		return "", false
	}
	return path, os.Remove(f.Name()) == nil
}
