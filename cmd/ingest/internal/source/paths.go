package source

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFiles bounds the files of a folder or a pattern.
const maxFiles = 100000

// Expand returns the files that a path names if it is a folder, with all below it, or a pattern
// such as part_*.parquet that is not the name of a file. They are in the order of their names, and
// only those whose name is accepted. root is the folder above them all. For the path of one file,
// names is nil. Programs that write folders give names with a leading underscore or dot to files of
// their own, so those are left out.
func Expand(path string, is func(name string) bool) (names []string, root string, err error) {
	found := []string{path}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return nil, "", nil
	case err == nil:
		root = path
	default:
		at := strings.IndexAny(path, "*?[")
		if at < 0 {
			return nil, "", nil // opening it reports the error
		}
		if found, err = filepath.Glob(path); err != nil {
			return nil, "", fmt.Errorf("%s: is not a file, and no pattern: %w", path, err)
		}
		root = filepath.Dir(path[:at] + "x")
	}
	for _, top := range found {
		err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
			own := name != top && strings.HasPrefix(e.Name(), "_") || name != top && strings.HasPrefix(e.Name(), ".")
			switch {
			case err != nil:
				return err
			case e.IsDir() && own:
				return fs.SkipDir
			case e.IsDir() || own || !is(name):
				return nil
			}
			if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
				return err
			}
			if names = append(names, name); len(names) > maxFiles {
				return fmt.Errorf("%s: names more than %d files; name a part of them", path, maxFiles)
			}
			return nil
		})
		if err != nil {
			return nil, "", err
		}
	}
	return names, root, nil
}
