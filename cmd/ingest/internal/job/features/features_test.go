package features

import (
	"io"
	"os"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/disk"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source/format"
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
		_, err = s.copied(zeros(tc.bytes), "many.gpkg.gz")
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
