package dataset

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"quadrille/internal/must"
)

// du returns the size of a directory in bytes, according to the program du.
func du(t *testing.T, dir string) int64 {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "du", "-sk", dir).Output()
	if err != nil {
		t.Skipf("no du to compare with: %v", err)
	}
	n, err := strconv.ParseInt(strings.Fields(string(out))[0], 10, 64)
	must.Do(t, err)
	return n << 10
}

// TestSize tests that the size of a generation equals the result of du, in every list and as long
// as it is served. For this the space that was allocated for a log must be freed.
func TestSize(t *testing.T) {
	c, err := Open(filepath.Join(t.TempDir(), "data"), pebbleOpener) // on a disk if there is one
	must.Do(t, err)
	m := mustIngest(t, c, "ip", strings.Repeat("text", 500))
	dir := c.generationDir("ip", 1)
	const slack = 256 << 10 // blocks are not full
	for _, f := range m.Files {
		if n := du(t, filepath.Join(dir, filepath.FromSlash(f.Path))); n > f.Bytes+slack {
			t.Errorf("%s has %d bytes and takes %d", f.Path, f.Bytes, n)
		}
	}
	check := func(where string, m Manifest) {
		t.Helper()
		if want, got := du(t, dir), m.Size(); got < want-want/20 || got > want+want/20 {
			t.Errorf("%s: %d bytes, and du says %d", where, got, want)
		}
	}
	check("published", m)
	current, err := c.Current(t.Context(), "ip")
	must.Do(t, err)
	check("current", current)
	list, err := c.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	check("list", list[0].Manifest)
	g, err := c.OpenCurrent(t.Context(), "ip")
	must.Do(t, err)
	if _, err := read(t.Context(), g.Store); err != nil {
		t.Error(err)
	}
	check("open", g.Manifest)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	check("after it was read", m)
	// Every file in the directory counts, because programs of earlier versions left further files
	// in generations.
	must.Do(t, os.WriteFile(filepath.Join(dir, "more"), make([]byte, 4<<20), 0o600))
	if list, err = c.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("with what does not belong to it", list[0].Manifest)
}
