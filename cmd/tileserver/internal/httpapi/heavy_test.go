package httpapi_test

import (
	"context"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// TestHeavy tests that heavy requests that take long leave capacity for the other requests.
func TestHeavy(t *testing.T) {
	f := servertest.New(t, func(c *httpapi.Config) { c.MaxConcurrent = 4 }, servertest.DefaultDatasets...)
	enter, leave := make(chan struct{}, 100), make(chan struct{})
	var held atomic.Bool
	f.Boundaries.BeforeRead = func(ctx context.Context, _ string, _ []byte) error {
		if held.Swap(true) {
			return nil
		}
		enter <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	first := make(chan *http.Response)
	go func() { first <- f.Get("/tiles/country/1/0/0.png") }()
	<-enter
	for _, path := range []string{"/tiles/country/5/1/0.png", "/regions/within?bbox=1,2,3,4", "/places/within?bbox=1,2,3,4",
		"/places/search?q=a"} {
		if res := f.Get(path); res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no word on when to come back", path)
		}
		servertest.WantProblem(t, f.Get(path), 503, "too-busy")
	}
	for _, path := range []string{"/tiles/country/5/1/0.geojson", "/places/nearby?lat=1&lon=2"} {
		if res := f.Get(path); res.StatusCode != 200 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	close(leave)
	if res := <-first; res.StatusCode != 200 {
		t.Errorf("the first: %d", res.StatusCode)
	}
	for range 2 { // every place is free again
		if res := f.Get("/tiles/country/5/1/0.png"); res.StatusCode != 200 {
			t.Errorf("afterwards: %d", res.StatusCode)
		}
	}
}

// TestHeavyTile tests which requests for tiles are heavy: those for which a large tile must be
// compressed. A small tile, an uncompressed tile and a cached tile are light.
func TestHeavyTile(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	// The tile of zoom 0 is one byte larger than the largest tile that is compressed without a
	// heavy place.
	f.Boundaries.ChangeRow = func(_ string, row *cellstore.Row) {
		tile := must.Get(quadkey.ParseKey(row.Key)).In(t)
		for i := range row.Cells {
			c := &row.Cells[i]
			if c.Value = c.Value[:1]; c.Family == "country.mvt" { // after the mark of the row
				c.Value = append(c.Value, make([]byte, 192<<10+1-int(tile.Z))...)
			}
		}
	}
	s := httpapi.Compose(&f.Config, httpapi.Faces())
	f.Handler = s.Handler()
	const large, small, packed = "/tiles/country/0/0/0.mvt", "/tiles/country/1/0/0.mvt", "Accept-Encoding"
	free := servertest.FillHeavy(s)
	for _, ask := range []struct{ path, coding, sent string }{
		{large, "br", ""}, {large, "identity", ""}, {small, "br", "br"},
	} {
		res := f.Get(ask.path, packed, ask.coding)
		if got := res.Header.Get("Content-Encoding"); res.StatusCode != http.StatusOK || got != ask.sent {
			t.Errorf("%s as %s without a place: %d as %q, want %q", ask.path, ask.coding, res.StatusCode, got, ask.sent)
		}
	}
	if a, b := f.Get(large, packed, "br").Header.Get("Etag"), f.Get(large, packed, "identity").Header.Get("Etag"); a != b {
		t.Errorf("a tile that is sent as it is has the tag %s, not its own, %s", a, b)
	}
	free()
	if res := f.Get(large, packed, "br"); res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "br" {
		t.Errorf("with a place: %d as %q", res.StatusCode, res.Header.Get("Content-Encoding"))
	}
	if n := s.HeavyPlaces.Taken(); n != 0 {
		t.Errorf("%d places are not given back", n)
	}
	defer servertest.FillHeavy(s)()
	if res := f.Get(large, packed, "br"); res.StatusCode != http.StatusOK {
		t.Errorf("kept: %d", res.StatusCode)
	}
}

// Pages of features have megabytes, so at most as many are made concurrently as there are
// processors. A request that waits for a processor gives up at its time limit. A cached page does
// not wait.
func TestPagesAreMadeByTurns(t *testing.T) {
	w := servertest.NewShops(t)
	w.Config.ResponseCacheBytes = 1 << 20
	s := httpapi.Compose(&w.Config, httpapi.Faces())
	w.Handler = s.Handler()
	s.Timeout = 20 * time.Millisecond
	pages := []string{"/ogc/collections/places/items?limit=1", "/ogc/collections/points:drivers/items"}
	full := func(path string) *http.Response {
		defer servertest.FillProcessors(t, s)()
		return w.Get(path)
	}
	for _, path := range pages {
		servertest.WantProblem(t, full(path), http.StatusServiceUnavailable, "timeout")
	}
	if res := full("/tiles/country/0/0/0.mvt"); res.StatusCode != http.StatusOK {
		t.Errorf("a tile: %d", res.StatusCode)
	}
	s.Timeout = 10 * time.Second
	for range 2 * runtime.GOMAXPROCS(0) { // every place is given back
		for _, path := range pages {
			if res := w.Get(path); res.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %s", path, res.StatusCode, servertest.Body(t, res))
			}
		}
	}
	if res := full(pages[0]); res.StatusCode != http.StatusOK {
		t.Errorf("kept: %d", res.StatusCode)
	}
}
