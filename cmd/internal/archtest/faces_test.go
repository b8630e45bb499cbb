package archtest

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
)

const (
	server   = "cmd/tileserver/internal/"
	composer = server + "httpapi"
)

// face is a group of endpoints of the server, with the packages that belong to it.
type face struct {
	name, file string
	// owns are the packages that only this face uses: only file, and packages in owns, import them.
	owns []string
}

// loadFaces finds the faces by the files that register them, face_NAME.go.
func loadFaces(t *testing.T) (faces []face, importers map[string][]string) {
	t.Helper()
	importers = map[string][]string{}
	for _, p := range load(t) {
		if p.path == server+"servertest" { // its world of a face belongs to the face
			continue
		}
		if p.path != composer {
			for _, imp := range p.imports {
				own := strings.TrimPrefix(imp, module+"/")
				importers[own] = append(importers[own], p.path)
			}
			continue
		}
		for _, file := range p.files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				own := strings.TrimPrefix(strings.Trim(imp.Path.Value, `"`), module+"/")
				importers[own] = append(importers[own], file)
			}
			if name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(file), ".go"), "face_"); ok {
				faces = append(faces, face{name: name, file: file})
			}
		}
	}
	for i := range faces {
		faces[i].own(importers)
	}
	return faces, importers
}

func (f *face) own(importers map[string][]string) {
	for grown := true; grown; {
		grown = false
		for path, by := range importers {
			foreign := func(importer string) bool { return importer != f.file && !slices.Contains(f.owns, importer) }
			if strings.HasPrefix(path, server) && !slices.Contains(f.owns, path) && !slices.ContainsFunc(by, foreign) {
				f.owns, grown = append(f.owns, path), true
			}
		}
	}
}

// TestFacesAreRegisteredInOneFile tests that only the file that registers a face imports the face's
// packages, so that both can be deleted.
func TestFacesAreRegisteredInOneFile(t *testing.T) {
	faces, importers := loadFaces(t)
	for _, f := range faces {
		room := server + f.name
		if slices.Contains(f.owns, room) {
			continue
		}
		by := slices.DeleteFunc(slices.Clone(importers[room]), func(s string) bool { return s == f.file })
		t.Errorf("%s registers a face whose room, %s, is imported by %s too: have that be told what it needs by the file, "+
			"or put what both need into a package of its own", filepath.Base(f.file), room, strings.Join(by, " and "))
	}
	i := slices.IndexFunc(rules, func(r rule) bool { return r.alone })
	for _, room := range rules[i].of {
		registered := slices.ContainsFunc(faces, func(f face) bool { return server+f.name == room })
		if !registered && room != server+"ops" { // ops shows operators all the others
			t.Errorf("%s is a room that no face_%s.go registers in %s", room, strings.TrimPrefix(room, server), composer)
		}
	}
}

// TestServerWithoutFace type-checks the server without each face in turn, that is, without the
// face's packages and its file.
func TestServerWithoutFace(t *testing.T) {
	faces, _ := loadFaces(t)
	exports := exported(t)
	fset := token.NewFileSet()
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	of := filesOf(t, fset, composer)
	main := filesOf(t, fset, "cmd/tileserver")
	for _, f := range faces {
		t.Run(f.name, func(t *testing.T) {
			t.Log("without", strings.Join(slices.Sorted(slices.Values(f.owns)), ", "))
			with := importing{packages: map[string]*types.Package{}, compiled: compiled}
			for _, path := range f.owns {
				with.packages[module+"/"+path] = nil
			}
			rest := slices.DeleteFunc(slices.Clone(of), func(file *ast.File) bool { return fset.File(file.Package).Name() == f.file })
			if len(rest) != len(of)-1 {
				t.Fatalf("%s is not among the files of %s", f.file, composer)
			}
			for _, p := range []struct {
				path  string
				files []*ast.File
			}{{composer, rest}, {"cmd/tileserver", main}} {
				config := types.Config{Importer: with, Error: func(err error) { t.Error(err) }}
				with.packages[module+"/"+p.path], _ = config.Check(module+"/"+p.path, fset, p.files, nil) // Error reports errors
			}
		})
	}
}

// importing finds packages first in a map, in which nil means a deleted package, and then among the
// compiled packages.
type importing struct {
	packages map[string]*types.Package
	compiled types.Importer
}

func (i importing) Import(path string) (*types.Package, error) {
	if p, ok := i.packages[path]; ok {
		if p == nil {
			return nil, fmt.Errorf("%s is deleted", path)
		}
		return p, nil
	}
	return i.compiled.Import(path)
}

// exported returns the export data files of the server's packages.
func exported(t *testing.T) map[string]string {
	out, err := goCommand("list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", module+"/cmd/tileserver")
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	return exports
}

// filesOf parses a package without its tests, for the build of this machine.
func filesOf(t *testing.T, fset *token.FileSet, path string) (files []*ast.File) {
	i := slices.IndexFunc(load(t), func(p pkg) bool { return p.path == path })
	dir := filepath.Dir(load(t)[i].files[0])
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// TestServerWithoutAnyFace builds and runs the program without all faces at once.
func TestServerWithoutAnyFace(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	faces, _ := loadFaces(t)
	deleted := map[string]string{}
	for _, f := range faces {
		deleted[f.file] = ""
		for _, p := range load(t) {
			if slices.Contains(f.owns, p.path) {
				for _, file := range p.files {
					deleted[file] = ""
				}
			}
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": deleted})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	description := filepath.Join(dir, "overlay.json")
	testfile.Write(t, description, overlay)
	program := filepath.Join(dir, "tileserver")
	if _, err := goCommand("build", "-overlay", description, "-o", program, module+"/cmd/tileserver"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "config", "check", "--data", dir).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
