package job_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/ingest/internal/disk"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
)

func TestAnnounce(t *testing.T) {
	c := jobtest.Catalog(t)
	for _, tc := range []struct {
		n          job.Need
		note, fail string
	}{
		{job.Need{Time: time.Second, MinDiskBytes: math.MaxInt64}, "", ""},
		{
			job.Need{Time: 47 * time.Second, MemoryBytes: 5e8, DiskBytes: 3e6},
			"this takes about 50s on two processors, 500 MB of memory and 3 MB of disk",
			"",
		},
		{
			job.Need{Time: 200 * time.Second, MemoryBytes: 5e12, DiskBytes: 1},
			"this takes about 3 minutes on two processors, 2.1 GB of memory and 1 MB of disk",
			"",
		},
		{job.Need{Time: time.Hour, MemoryBytes: 1, MinDiskBytes: math.MaxInt64}, "",
			"make room there, or name another directory with --data"},
	} {
		if _, known := disk.Free(c.Dir()); !known {
			tc.fail = ""
		}
		var rep jobtest.Recorder
		err := job.Options{Reporter: &rep}.Announce(c, tc.n)
		switch {
		case tc.fail != "" && (err == nil || !strings.Contains(err.Error(), tc.fail)),
			tc.fail == "" && err != nil,
			!strings.HasPrefix(strings.Join(rep.Notes, "; "), tc.note), tc.note == "" && len(rep.Notes) > 0:
			t.Errorf("%+v: %v, %q", tc.n, err, rep.Notes)
		}
	}
}

func TestUnpackedBytes(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a.csv": 7, "b.csv.gz": 10, "set.zip": 100} {
		testfile.Write(t, filepath.Join(dir, name), make([]byte, size))
	}
	if err := os.Mkdir(filepath.Join(dir, "old"), 0o700); err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, filepath.Join(dir, "old", "huge.csv"), make([]byte, 1000))
	if err := os.Symlink(filepath.Join(dir, "old", "huge.csv"), filepath.Join(dir, "latest.csv")); err == nil {
		if n := job.UnpackedBytes(filepath.Join(dir, "latest.csv")); n != 1000 {
			t.Errorf("%d bytes behind a link", n)
		}
		if err := os.Remove(filepath.Join(dir, "latest.csv")); err != nil {
			t.Fatal(err)
		}
	}
	if n := job.UnpackedBytes(dir, filepath.Join(dir, "a.csv"), filepath.Join(dir, "none")); n != 7+50+500+7 {
		t.Error(n)
	}
}
