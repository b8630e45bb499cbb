package features

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/disk"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/internal/testfile"
)

// zeros returns a reader of n zero bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(p []byte) (int, error) { return len(p), nil }

// A copy is refused before the disk is full. Small copies are never refused.
func TestCopiesLeaveRoom(t *testing.T) {
	t.Cleanup(func() { free = disk.Free })
	for _, tc := range []struct {
		bytes, room int64
		known, fits bool
	}{
		{spare - 1, 1, true, true},
		{spare + 1, spare, true, true},
		{spare + 1, spare - 1, true, false},
		{spare + 1, 0, false, true},
	} {
		dir := t.TempDir()
		free = func(string) (uint64, bool) { return uint64(tc.room), tc.known }
		s, err := New(t.Context(), job.Options{}.ReporterOrSilent(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.copied(zeros(tc.bytes), "many.gpkg.gz", true)
		if fits := err == nil; fits != tc.fits ||
			!fits && !strings.Contains(err.Error(), "many.gpkg.gz: its copy does not fit into "+dir+": make room there") {
			t.Errorf("%+v: %v", tc, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left: %v %v", left, err)
		}
	}
}

// A job that does not read standard input says so. It does not say that standard input was already
// read.
func TestStandardInput(t *testing.T) {
	s, err := New(t.Context(), job.Options{}.ReporterOrSilent(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(job.Input{Path: "-"}, format.Options{}); err == nil ||
		!strings.Contains(err.Error(), "not read here: save it to a file") {
		t.Error(err)
	}
}

// Bounds leave out features of every format, and their number is told. Sources are all files of a
// folder.
func TestBoundsAndFolders(t *testing.T) {
	folder := t.TempDir()
	sample := testfile.Read(t, "../../source/format/testdata/parquet.parquet")
	for _, name := range []string{"a.parquet", "b.parquet"} {
		testfile.Write(t, filepath.Join(folder, name), sample)
	}
	for path, want := range map[string]struct{ features, outside, sources int }{
		"../../source/format/testdata/geojson.json":    {1, 1, 1},
		"../../source/format/testdata/parquet.parquet": {1, 1, 1},
		filepath.Join(folder, "?.parquet"):             {2, 2, 2},
		folder:                                         {2, 2, 2},
	} {
		var rep jobtest.Recorder
		s, err := New(t.Context(), &rep, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Open(job.Input{Path: path}, format.Options{
			Want: source.WantPoints, Said: &geojson.Said{}, Bounds: &orb.Bound{Min: orb.Point{8.5, 47}, Max: orb.Point{8.52, 48}},
		})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = f.Read("reading", func(l *format.Layer, _ func()) error {
			for _, err := range l.Features {
				if err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil || n != want.features || len(f.Sources) != want.sources ||
			!strings.Contains(strings.Join(rep.Notes, "; "), fmt.Sprintf("%d features outside the bounds", want.outside)) {
			t.Errorf("%s: %d features, %d sources, %q, %v", path, n, len(f.Sources), rep.Notes, err)
		}
		for i, src := range f.Sources {
			if want.sources == 2 && (src.File != []string{"a.parquet", "b.parquet"}[i] || src.Name != filepath.Base(path)) || len(src.SHA256) != 64 {
				t.Errorf("%s: %+v", path, src)
			}
		}
	}
}
