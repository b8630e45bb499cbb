package archtest

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
)

// TestModules tests that each go.mod marks exactly those modules as indirect that no file of this
// repository imports. docs/decisions/dependencies.md gives the reasons for the others.
func TestModules(t *testing.T) {
	dirs, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	var direct []string
	for _, dir := range dirs {
		direct = append(direct, directModules(t, dir)...)
	}
	dir := dirs[0]
	text := testfile.Read(t, filepath.Join(dir, "docs/decisions/dependencies.md"))
	_, table, ok := strings.Cut(string(text), "| module | why |\n|---|---|\n")
	if !ok {
		t.Fatal("docs/decisions/dependencies.md has no table of modules")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		for name := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSpace(cells[1]), "tests: "), ", ") {
			listed = append(listed, name)
			if !slices.Contains(direct, name) {
				t.Errorf("docs/decisions/dependencies.md gives a reason for %s, which no file of ours imports", name)
			}
		}
	}
	for _, name := range direct {
		if !slices.Contains(listed, name) {
			t.Errorf("docs/decisions/dependencies.md gives no reason for %s", name)
		}
	}
}

// requirement is a line of a go.mod.
type requirement struct {
	Path     string
	Indirect bool
}

// directModules returns the modules that the files of one of our modules import, under the names
// in dependencies.md. Our own are left out.
func directModules(t *testing.T, dir string) (direct []string) {
	t.Helper()
	name := filepath.Join(dir, "go.mod")
	out, err := goCommand("mod", "edit", "-json", name)
	if err != nil {
		t.Fatal(err)
	}
	var mod struct{ Require []requirement }
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	imported := importedPaths(t, dir)
	for _, req := range mod.Require {
		used := slices.ContainsFunc(imported, func(path string) bool {
			if !matches(req.Path+"/...", path) {
				return false
			}
			// A module in a subfolder of another module has the longer name.
			return !slices.ContainsFunc(mod.Require, func(inner requirement) bool {
				return len(inner.Path) > len(req.Path) && matches(inner.Path+"/...", path)
			})
		})
		switch {
		case used && req.Indirect:
			t.Errorf("%s marks %s as indirect, but files of ours import it: run go mod tidy", name, req.Path)
		case !used && !req.Indirect:
			t.Errorf("%s requires %s, which no file of ours imports: run go mod tidy", name, req.Path)
		}
		if used && req.Path != module {
			direct = append(direct, shortModule(req.Path))
		}
	}
	return direct
}

var major = regexp.MustCompile(`/v\d+$`)

// shortModule returns a module's path without GitHub's name and without its version.
func shortModule(path string) string {
	return strings.TrimPrefix(major.ReplaceAllString(path, ""), "github.com/")
}

// importedPaths returns the packages that any Go file of the module in dir imports, including tests
// and files for other systems.
func importedPaths(t *testing.T, dir string) []string {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != dir {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".") || err == nil {
				return fs.SkipDir
			}
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range file.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			found[name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for name := range found {
		list = append(list, name)
	}
	return list
}
