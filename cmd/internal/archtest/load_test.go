package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// pkg is one of our packages, without its tests.
type pkg struct {
	path    string // relative to the product's module
	name    string
	imports []string // full paths, direct
	deps    []string // full paths, direct and indirect
	files   []string // Go files for every platform; for a package of tests only, those
}

// load lists the packages of all modules with the go command, once.
func load(t *testing.T) []pkg {
	t.Helper()
	pkgs, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// modules are the folders of this repository with a go.mod: first the folder of the product, then
// the folders of the programs for benchmarks and judgements.
var modules = sync.OnceValues(func() ([]string, error) {
	out, err := goCommand("list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return nil, err
	}
	root := strings.TrimSpace(string(out))
	dirs := []string{root}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.Name() == "go.mod" && filepath.Dir(path) != root:
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	})
	return dirs, err
})

var loadOnce = sync.OnceValues(func() ([]pkg, error) {
	dirs, err := modules()
	if err != nil {
		return nil, err
	}
	var all []pkg
	for _, dir := range dirs {
		pkgs, err := loadModule(dir)
		if err != nil {
			return nil, err
		}
		if len(pkgs) == 0 {
			return nil, fmt.Errorf("the module in %s has no packages", dir)
		}
		all = append(all, pkgs...)
	}
	return all, nil
})

func loadModule(dir string) (pkgs []pkg, err error) {
	out, err := goCommand("list", "-C", dir,
		"-json=ImportPath,Name,Dir,Imports,Deps,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Dir                                        string
			Imports, Deps                                                []string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		if strings.Contains(p.ImportPath, "/node_modules/") {
			continue // installed by npm
		}
		files := slices.Concat(p.GoFiles, p.CgoFiles)
		if len(files) == 0 {
			files = slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		} else {
			files = append(files, p.IgnoredGoFiles...)
		}
		for i, f := range files {
			files[i] = filepath.Join(p.Dir, f)
		}
		pkgs = append(pkgs, pkg{
			path: strings.TrimPrefix(p.ImportPath, module+"/"), name: p.Name,
			imports: p.Imports, deps: p.Deps, files: files,
		})
	}
}

func goCommand(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

// packageComments returns the files of a package that have a package comment.
func packageComments(p pkg) (with []string, err error) {
	fset := token.NewFileSet()
	for _, path := range p.files {
		f, err := parser.ParseFile(fset, path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if strings.TrimSuffix(f.Name.Name, "_test") != p.name {
			continue // a script kept beside the package
		}
		if f.Doc != nil && strings.TrimSpace(f.Doc.Text()) != "" {
			with = append(with, filepath.Base(path))
		}
	}
	return with, nil
}
