package format

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/must"
)

// TestPaths tests that folders and patterns are their files, and that those which are read as one stay together.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "parts"), 0o700))
	for _, name := range []string{"b.geojson", "a.GEOJSON.gz", "c.csv", "readme.md", "_own.json", "d.zip", "e.tar.gz", "s.dbf", "parts/p.parquet"} {
		testfile.Write(t, filepath.Join(dir, name), []byte("x"))
	}
	for path, want := range map[string][]string{
		"b.geojson":     {"b.geojson"},
		"missing":       {"missing"},
		"*.geojson":     {"b.geojson"},
		"[abr]*":        {"a.GEOJSON.gz", "b.geojson", "readme.md"},
		"parts":         {"parts"},
		"parts/*":       {"parts/*"},
		"*.none":        {"*.none"},
		"../" + "none*": {"../none*"},
	} {
		got, _, err := Paths(filepath.Join(dir, path), source.WantPolygons)
		must.Do(t, err)
		for i := range want {
			want[i] = filepath.Join(dir, want[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	must.Do(t, os.RemoveAll(filepath.Join(dir, "parts")))
	var names []string
	paths, note, err := Paths(dir, source.WantPolygons)
	must.Do(t, err)
	if !strings.Contains(note, "1 of its files are not read, such as "+filepath.Join(dir, "readme.md")) {
		t.Errorf("told %q", note)
	}
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	if want := []string{"a.GEOJSON.gz", "b.geojson", "c.csv", "d.zip", "e.tar.gz"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
