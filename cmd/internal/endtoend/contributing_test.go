package endtoend

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/internal/testfile"
)

// overlay puts the file that CONTRIBUTING shows where it belongs, without touching the source
// tree, and what edits make of files that are there.
func overlay(t *testing.T, shown string, edits map[string]func(text string) string) (root, path string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to build it with")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(shown).FindSubmatch(testfile.Read(t, filepath.Join(root, "CONTRIBUTING.md")))
	if found == nil {
		t.Fatal("CONTRIBUTING.md does not show it, or not where it belongs: ", shown)
	}
	dir := t.TempDir()
	replaced := map[string]string{filepath.Join(root, string(found[1])): testfile.Write(t, filepath.Join(dir, "shown.go"), found[2])}
	for name, edit := range edits {
		name = filepath.Join(root, name)
		replaced[name] = testfile.Write(t, filepath.Join(dir, filepath.Base(name)), edit(string(testfile.Read(t, name))))
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	return root, testfile.Write(t, filepath.Join(dir, "overlay.json"), text)
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

// TestContributedEndpoint: CONTRIBUTING's endpoint is one file. Put into its room it builds, and is
// described and answers as it is declared.
func TestContributedEndpoint(t *testing.T) {
	root, overlay := overlay(t, "(?s)`(cmd/tileserver/internal/place/\\w+\\.go)`, is complete.*?```go\n(package place\n.*?)```", nil)
	run(t, root, "go", "test", "-overlay", overlay, "-short", "-count=1", "-run", "EveryRoute|AsDescribed|Structure|AskFor", "./cmd/tileserver/internal/httpapi")
}

// TestContributedFormat: CONTRIBUTING's format is one file and one line of the table. Points and
// boundaries read it alike, plain, compressed and in an archive, and refuse what it has not.
func TestContributedFormat(t *testing.T) {
	row := func(text string) string {
		return strings.Replace(text, "\t&geoJSON,\n", "\t&geoJSON,\n\t&corners,\n", 1)
	}
	root, overlay := overlay(t, "(?s)`(cmd/ingest/internal/source/format/\\w+\\.go)`, and the line `&corners,`.*?```go\n(package format\n.*?)```",
		map[string]func(string) string{"cmd/ingest/internal/source/format/table.go": row})
	ingest := filepath.Join(t.TempDir(), "ingest")
	run(t, root, "go", "build", "-overlay", overlay, "-o", ingest, "./cmd/ingest")
	const text = "CORNERS\nwell 8.55 47.35\npark 8.5 47.3 8.6 47.3 8.6 47.4\nodd 8.5\n"
	for _, path := range []string{
		testfile.Temp(t, "sights", text), testfile.Temp(t, "sights.gz", testfile.Gzip(text)),
		testfile.Temp(t, "sights.zip", testfile.Zip([2]string{"readme.md", "-"}, [2]string{"sights.corners", text})),
	} {
		for _, command := range [][]string{{"points", "sights", path}, {"boundaries", "--layer", "sight=" + path}} {
			out := run(t, root, ingest, append(command, "--data", t.TempDir(), "--dry-run", "--max-bad", "80%")...)
			for _, want := range []string{path + `:4: "odd 8.5"`, "would have: 1 "} {
				if !strings.Contains(out, want) {
					t.Errorf("%q lacks %q:\n%s", command, want, out)
				}
			}
		}
	}
}
