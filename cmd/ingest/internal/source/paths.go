package source

import (
	"errors"
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
	seen := map[string]bool{}
	for _, top := range found {
		_, delta := os.Stat(filepath.Join(top, "_delta_log"))
		if iceberg, _ := filepath.Glob(filepath.Join(top, "metadata", "*.metadata.json")); delta == nil || len(iceberg) > 0 {
			return nil, "", fmt.Errorf("%s: is a table of Delta Lake or Iceberg, whose folder also has rows that were removed; "+
				"write the table as it is now to Parquet files of its own", top)
		}
		err := walk(top, seen, func(name string, info fs.FileInfo, err error) error {
			begin := filepath.Base(name)[:1]
			own := name != path && strings.Contains("._", begin) && !strings.HasPrefix(filepath.Base(path), begin)
			switch {
			case own:
				return fs.SkipDir
			case err == nil && info.IsDir() || !is(name):
				return nil
			case err != nil || !info.Mode().IsRegular():
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

// walk calls each with a file, or with a folder and all below it, in the order of their names. It follows symbolic links,
// and comes into each folder once. each returns fs.SkipDir for what not to enter.
func walk(name string, seen map[string]bool, each func(string, fs.FileInfo, error) error) error {
	info, err := os.Stat(name)
	isDir := err == nil && info.IsDir()
	if err := each(name, info, err); err != nil || !isDir {
		if errors.Is(err, fs.SkipDir) {
			err = nil
		}
		return err
	}
	actual, err := filepath.EvalSymlinks(name)
	if err != nil || seen[actual] {
		return err
	}
	seen[actual] = true
	entries, err := os.ReadDir(name)
	for _, e := range entries {
		if err := walk(filepath.Join(name, e.Name()), seen, each); err != nil {
			return err
		}
	}
	return err
}

// Files returns the files of an input: the path itself, or what Expand finds. Of folders within a
// folder, only Parquet files count, because not every command reads others there.
func Files(path string) (names []string, root string, err error) {
	names, root, err = Expand(path, func(name string) bool {
		return filepath.Dir(name) == filepath.Clean(path) || strings.EqualFold(filepath.Ext(name), ".parquet") || strings.ContainsAny(path, "*?[")
	})
	if root == "" {
		names, root = []string{path}, filepath.Dir(path)
	}
	return names, root, err
}
