package archtest

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
)

// TestArchitectureNamesFolders tests that the table of faces in ARCHITECTURE.md names each folder
// of Go code on the first two levels, and only existing folders and files.
func TestArchitectureNamesFolders(t *testing.T) {
	dirs, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	text := testfile.Read(t, filepath.Join(dirs[0], "ARCHITECTURE.md"))
	_, table, _ := strings.Cut(string(text), "\n## The folders\n")
	table, _, ok := strings.Cut(table, "\n## ")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no table of folders")
	}
	var named []string
	for _, m := range regexp.MustCompile("[`*]([a-z][a-z0-9/.]*)[`*]").FindAllStringSubmatch(table, -1) {
		named = append(named, m[1])
	}
	for _, p := range load(t) {
		if name := firstLevels(p.path); !slices.ContainsFunc(named,
			func(word string) bool { return word == name || filepath.Base(word) == filepath.Base(name) }) {
			t.Errorf("the table of folders in ARCHITECTURE.md does not name %s: say in a few words what is inside", name)
		}
	}

	var paths []string
	err = filepath.WalkDir(dirs[0], func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin") {
			return fs.SkipDir
		}
		paths = append(paths, filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range named {
		if !slices.ContainsFunc(paths, func(path string) bool { return strings.HasSuffix(path, "/"+name) }) {
			t.Errorf("the table of folders in ARCHITECTURE.md names %s, which is no folder or file", name)
		}
	}
}

// firstLevels returns the folder of a package on the first levels: its first two names, or below
// "internal" also the third.
func firstLevels(path string) string {
	parts := strings.Split(path, "/")
	n := min(2, len(parts))
	for i, part := range parts[:n] {
		if part == "internal" {
			n = min(i+2, len(parts))
		}
	}
	if n < len(parts) && parts[n] == "internal" { // of a program
		n = min(n+2, len(parts))
	}
	return strings.Join(parts[:n], "/")
}
