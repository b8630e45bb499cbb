//go:build !race

package httpapi_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
)

// "all" skips a missing data set, but not one that has failed, even if the list was resolved while
// the data set was missing.
func TestAllAfterFailure(t *testing.T) {
	f := servertest.New(t, nil, ask.Boundaries.Name)
	if res := f.Get("/tiles/all/3/4/3.geojson"); res.StatusCode != 200 {
		t.Fatalf("without places: %d", res.StatusCode)
	}
	dir := filepath.Join(f.Catalog.Dir(), ask.Places.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.Config.Places.Poll(context.Background()); err == nil {
		t.Fatal("garbage was taken for a pointer")
	}
	for _, path := range []string{"/tiles/all/3/4/2.geojson", "/tiles/all/3/5/2.mvt", "/tiles/all.json"} {
		if res := f.Get(path); res.StatusCode < 500 {
			t.Errorf("%s with failed places: %d", path, res.StatusCode)
		}
	}
}

// The path of a record followed by more segments is answered with 404.
func TestTrailingSegments(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	for _, path := range []string{"/places/1/2", "/regions/country/fr/x"} {
		servertest.WantProblem(t, f.Get(path), 404, "not-found")
	}
}

func TestEmptyCursor(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	servertest.WantProblem(t, f.Get("/places/nearby?lat=1&lon=2&cursor="), 400, "bad-parameter")
}
