package source_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/must"
)

// A folder or a pattern names files in the order of their names, and not those that programs keep
// there for themselves.
func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"b/2.pq", "b/1.pq", "a/9.pq", "a/readme.md", "_SUCCESS", "_temporary/3.pq", ".hidden.pq", "part[1].pq", "c.pq",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		testfile.Write(t, path, "x")
	}
	for path, want := range map[string]string{
		"":           "a/9.pq b/1.pq b/2.pq c.pq part[1].pq; root .",
		"b":          "b/1.pq b/2.pq; root b",
		"*.pq":       "c.pq part[1].pq; root .",
		"?/*.pq":     "a/9.pq b/1.pq b/2.pq; root .",
		"b/[12].pq":  "b/1.pq b/2.pq; root b",
		"part[1].pq": "; root",
		"none":       "; root",
		"none*":      "; root .",
		"[":          "no pattern",
	} {
		names, root, err := source.Expand(filepath.Join(dir, path), func(name string) bool { return strings.HasSuffix(name, ".pq") })
		within := func(path string) string {
			if path == "" {
				return ""
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				t.Fatal(err)
			}
			return filepath.ToSlash(rel)
		}
		got := ""
		for _, name := range names {
			got += within(name) + " "
		}
		got = strings.TrimSpace(strings.TrimSpace(got) + "; root " + within(root))
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
	files, root, err := source.Files(dir)
	if err != nil || root != dir || !slices.Equal(files, []string{filepath.Join(dir, "c.pq"), filepath.Join(dir, "part[1].pq")}) {
		t.Error(files, root, err)
	}
}

func TestInBounds(t *testing.T) {
	box := func(w, s, e, n float64) orb.Bound { return orb.Bound{Min: orb.Point{w, s}, Max: orb.Point{e, n}} }
	for _, tc := range []struct {
		bounds, box orb.Bound
		want        bool
	}{
		{box(0, 0, 10, 10), box(10, 10, 11, 11), true},
		{box(0, 0, 10, 10), box(10.1, 0, 11, 11), false},
		{box(0, 0, 10, 10), box(0, -2, 10, -1), false},
		{box(170, 0, -170, 10), box(175, 1, 176, 2), true},
		{box(170, 0, -170, 10), box(-176, 1, -175, 2), true},
		{box(170, 0, -170, 10), box(-10, 1, 10, 2), false},
		{box(170, 0, 175, 10), box(-188, 1, -186, 2), true}, // unwrapped
		{box(-170, 0, -165, 10), box(188, 1, 192, 2), true},
		{box(0, 0, 10, 10), box(170, 1, -170, 2), true}, // its statistics do not tell
	} {
		if got := source.InBounds(tc.bounds, tc.box); got != tc.want {
			t.Errorf("%v and %v: %v", tc.bounds, tc.box, got)
		}
	}
}

// Symbolic links are followed, also where a folder begins, and a folder that is reached twice is read once.
func TestExpandFollowsLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "a"), 0o700))
	testfile.Write(t, filepath.Join(dir, "a", "1.pq"), "x")
	testfile.Write(t, filepath.Join(elsewhere, "2.pq"), "x")
	for link, to := range map[string]string{
		"a/up": dir, "b": elsewhere, "c": elsewhere, "d.pq": filepath.Join(elsewhere, "2.pq"), "e": filepath.Join(dir, "e"), "f.txt": "none",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	root := filepath.Join(t.TempDir(), "root")
	must.Do(t, os.Symlink(dir, root))
	names, _, err := source.Expand(root, func(name string) bool { return strings.HasSuffix(name, ".pq") })
	want := []string{filepath.Join(root, "a/1.pq"), filepath.Join(root, "b/2.pq"), filepath.Join(root, "d.pq")}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
}
