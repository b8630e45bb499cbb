package endtoend

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/cmd/internal/testfile"
)

// shown returns the root of the source tree, and the groups that a pattern matches in the text of
// CONTRIBUTING.
func shown(t *testing.T, pattern string) (root string, found []string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to build it with")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	found = regexp.MustCompile(pattern).FindStringSubmatch(string(testfile.Read(t, filepath.Join(root, "CONTRIBUTING.md"))))
	if found == nil {
		t.Fatal("CONTRIBUTING.md does not show it, or not where it belongs: ", pattern)
	}
	return root, found[1:]
}

// edited returns a file of the source tree with texts replaced, each once.
func edited(t *testing.T, root, name string, replace ...string) string {
	t.Helper()
	text := string(testfile.Read(t, filepath.Join(root, name)))
	for i := 0; i < len(replace); i += 2 {
		if strings.Count(text, replace[i]) != 1 {
			t.Fatalf("%s does not have %q once", name, replace[i])
		}
		text = strings.Replace(text, replace[i], replace[i+1], 1)
	}
	return text
}

// overlay adds files to the source tree without changing it. It returns the flags with which the go
// command sees the files in their places.
func overlay(t *testing.T, root string, files map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	replaced := map[string]string{}
	for name, text := range files {
		replaced[filepath.Join(root, name)] = testfile.Write(t, filepath.Join(dir, filepath.Base(name)), text)
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	return []string{"-overlay", testfile.Write(t, filepath.Join(dir, "overlay.json"), text)}
}

// build builds programs with flags of the go command, and returns their directory.
func build(t *testing.T, flags []string, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := programs.Build(t.Context(), dir, names, flags...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a command in the source tree.
func run(t *testing.T, root, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=", "GOFLAGS=", "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// goTest runs the tests of a package that a pattern names. A pattern that matches no test is a
// failure.
func goTest(t *testing.T, root string, flags []string, pattern, pkg string) {
	t.Helper()
	out := run(t, root, "go", append(append([]string{"test"}, flags...), "-short", "-count=1", "-v", "-run", pattern, pkg)...)
	if !strings.Contains(out, "--- PASS: ") {
		t.Errorf("no test of %s is called %s:\n%s", pkg, pattern, out)
	}
}

// TestContributedEndpoint tests that the endpoint in CONTRIBUTING is one file. It compiles in its
// package, is in the description of the interface, and answers as declared.
func TestContributedEndpoint(t *testing.T) {
	root, found := shown(t, "(?s)`(cmd/tileserver/internal/place/\\w+\\.go)`, is complete.*?```go\n(package place\n.*?)```")
	flags := overlay(t, root, map[string]string{found[0]: found[1]})
	goTest(t, root, flags, "EveryRoute|AsDescribed|Structure|AskFor", "./cmd/tileserver/internal/httpapi")
}

// TestContributedFormat tests that CONTRIBUTING's format is one file and one line of the table.
// Both points and boundaries read it, plain, compressed and in an archive. They refuse content that
// it cannot have.
func TestContributedFormat(t *testing.T) {
	const table = "cmd/ingest/internal/source/format/table.go"
	root, found := shown(t, "(?s)`(cmd/ingest/internal/source/format/\\w+\\.go)`, and the line `&corners,`.*?```go\n(package format\n.*?)```")
	ingest := filepath.Join(build(t, overlay(t, root, map[string]string{
		found[0]: found[1], table: edited(t, root, table, "\t&geoJSON,\n", "\t&geoJSON,\n\t&corners,\n"),
	}), programs.Ingest), programs.Ingest)
	const text = "CORNERS\nwell 8.55 47.35\npark 8.5 47.3 8.6 47.3 8.6 47.4\nodd 8.5\n"
	for _, path := range []string{
		testfile.WriteTemp(t, "sights", text), testfile.WriteTemp(t, "sights.gz", testfile.Gzip(text)),
		testfile.WriteTemp(t, "sights.zip", testfile.Zip([2]string{"readme.md", "-"}, [2]string{"sights.corners", text})),
	} {
		for _, command := range [][]string{{"points", "sights", path}, {"boundaries", "--nameless", "--layer", "sight=" + path}} {
			out := run(t, root, ingest, append(command, "--data", t.TempDir(), "--dry-run", "--max-bad", "80%")...)
			for _, want := range []string{path + `:4: "odd 8.5"`, "would have: 1 "} {
				if !strings.Contains(out, want) {
					t.Errorf("%q lacks %q:\n%s", command, want, out)
				}
			}
		}
	}
}

// TestContributedDataSet tests that CONTRIBUTING's data set of points is two files. Its points are
// listed, drawn and described like those of built-in data sets. The data set can be verified,
// rolled back and refreshed.
func TestContributedDataSet(t *testing.T) {
	const descriptors = "ask/datasets.go"
	root, found := shown(t, "(?s)\n   ```go\n(   \tParks = layered.*?)   ```.*?`(cmd/ingest/\\w+\\.go)`:.*?```go\n(   "+
		"package main\n.*?)   ```")
	indented := strings.NewReplacer("\n   ", "\n")
	files := map[string]string{
		descriptors: edited(t, root, descriptors, "\tNames = &DatasetOf[", found[0]+"\tNames = &DatasetOf[",
			" Stations, Names,", " Stations, Parks, Names,"),
		found[1]: indented.Replace("\n" + found[2]),
	}
	if len(files) > 3 {
		t.Errorf("%d files make a data set, which should take 3 at most", len(files))
	}
	flags := overlay(t, root, files)
	goTest(t, root, flags, "^TestFaces$/^layers$", "./cmd/tileserver/internal/servertest")
	dir := build(t, flags, programs.Ingest, programs.TileServer)
	data := t.TempDir()
	ingest := func(args ...string) string {
		return run(t, root, filepath.Join(dir, programs.Ingest), append(args, "--data", data)...)
	}
	const park = `{"type":"Feature","geometry":{"type":"Point","coordinates":[8.54,47.37]},"properties":{"ref":"oak","name":"Oak park","benches":4}}`
	path := testfile.WriteTemp(t, "parks.geojson", park)
	config := testfile.WriteTemp(t, "ingest.yaml", "data: "+data+"\nparks:\n  file: ["+path+"]\n  id: ref\n")
	for _, args := range [][]string{
		{"parks", path, "--id", "ref"},
		{"verify", "parks"},
		{"refresh", "--config", config},
		{"rollback", "parks"},
		{"list"},
	} {
		if out := ingest(args...); !strings.Contains(out, "parks") {
			t.Errorf("%q: %s", args, out)
		}
	}
	server := exec.CommandContext(t.Context(), filepath.Join(dir, programs.TileServer), "--listen", "127.0.0.1:0", "--data", data)
	url, err := programs.Start(server)
	if server.Process != nil {
		t.Cleanup(func() {
			_ = server.Process.Kill()
			_ = server.Wait() // it was killed
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/parks/nearby?lat=47.37&lon=8.54":          `"properties":{"name":"Oak park","benches":4}`,
		"/parks/within?bbox=8,47,9,48&sort=benches": `{"parks":[{"id":"oak"`,
		"/parks/count?benches.gt=3":                 `{"count":1}`,
		"/parks/oak":                                `"id":"oak"`,
		"/ogc/collections?f=json":                   `"id":"parks","title":"Parks"`,
		"/ogc/collections/parks/items?f=json":       `"name":"Oak park"`,
		"/tiles/parks/0/0/0.geojson":                `Oak park`,
		"/tiles/all/0/0/0.mvt":                      "Oak park",
		"/tiles/parks.json":                         `"id":"parks"`,
		"/style.json":                               `"source-layer":"parks"`,
		"/openapi.json":                             `"/parks/nearby"`,
		"/status":                                   `"parks"`,
	} {
		if status, text, _ := get(t, url+path); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.500s, want %s", path, status, text, want)
		}
	}
}
