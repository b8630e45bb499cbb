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
// their own, so those are left out, unless the pattern begins so too.
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
		_, delta := os.Stat(filepath.Join(top, "_delta_log"))
		if iceberg, _ := filepath.Glob(filepath.Join(top, "metadata", "*.metadata.json")); delta == nil || len(iceberg) > 0 {
			return nil, "", fmt.Errorf("%s: is a table of Delta Lake or Iceberg, whose folder also has rows that were removed; "+
				"write the table as it is now to Parquet files of its own", top)
		}
		err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			own := name != path && strings.Contains("._", e.Name()[:1]) && !strings.HasPrefix(filepath.Base(path), e.Name()[:1])
			switch {
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

// Files returns the files of an input: the path itself, or what Expand finds. Of folders within a
// folder, only Parquet files count, because other files are not read there.
func Files(path string) (names []string, root string, err error) {
	names, root, err = Expand(path, func(name string) bool {
		return filepath.Dir(name) == filepath.Clean(path) || strings.EqualFold(filepath.Ext(name), ".parquet") || strings.ContainsAny(path, "*?[")
	})
	if root == "" {
		names, root = []string{path}, filepath.Dir(path)
	}
	return names, root, err
}
