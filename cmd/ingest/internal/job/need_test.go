package job

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/ingest/internal/disk"
)

func TestAnnounce(t *testing.T) {
	c := newCatalog(t)
	for _, tc := range []struct {
		n          need
		note, fail string
	}{
		{need{time: time.Second, room: math.MaxInt64}, "", ""},
		{need{time: 47 * time.Second, memory: 5e8, disk: 3e6}, "this takes about 50s on two processors, 500 MB of memory and 3 MB of disk", ""},
		{need{time: 200 * time.Second, memory: 5e12, disk: 1}, "this takes about 3 minutes on two processors, 2.1 GB of memory and 1 MB of disk", ""},
		{need{time: time.Hour, memory: 1, room: math.MaxInt64}, "", "make room there, or name another directory with --data"},
	} {
		if _, known := disk.Free(c.Dir()); !known {
			tc.fail = ""
		}
		var rep recorder
		err := Options{Reporter: &rep}.announce(c, tc.n)
		switch {
		case tc.fail != "" && (err == nil || !strings.Contains(err.Error(), tc.fail)),
			tc.fail == "" && err != nil,
			!strings.HasPrefix(strings.Join(rep.notes, "; "), tc.note), tc.note == "" && len(rep.notes) > 0:
			t.Errorf("%+v: %v, %q", tc.n, err, rep.notes)
		}
	}
}

func TestUnpackedBytes(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a.csv": 7, "b.csv.gz": 10, "set.zip": 100} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "old"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old", "huge.csv"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "old", "huge.csv"), filepath.Join(dir, "latest.csv")); err == nil {
		if n := unpackedBytes(filepath.Join(dir, "latest.csv")); n != 1000 {
			t.Errorf("%d bytes behind a link", n)
		}
		if err := os.Remove(filepath.Join(dir, "latest.csv")); err != nil {
			t.Fatal(err)
		}
	}
	if n := unpackedBytes(dir, filepath.Join(dir, "a.csv"), filepath.Join(dir, "none")); n != 7+50+500+7 {
		t.Error(n)
	}
}
