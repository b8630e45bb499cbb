package httpapi

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// forClient is a context for one of many clients with keys.
func forClient(n int) context.Context {
	return web.For(context.Background(), web.Client{Key: strconv.Itoa(n)})
}

// hold is within what in calls its function for, until free.
func hold(in func(fn func() error) error) (free func(), err error) {
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var refused error
	go func() {
		defer close(ended)
		refused = in(func() error {
			close(begun)
			<-end
			return nil
		})
	}()
	select {
	case <-begun:
		return func() { close(end); <-ended }, nil
	case <-ended:
		return nil, refused
	}
}

// fillHeavy has clients take all heavy places.
func fillHeavy(s *Server) (free func()) {
	var all []func()
	for client := 0; ; client++ {
		free, err := hold(func(fn func() error) error { return s.Heavily(forClient(client), true, fn) })
		if err != nil {
			break
		}
		all = append(all, free)
	}
	return func() {
		for _, free := range all {
			free()
		}
	}
}

// fillProcessors has clients take all processors.
func fillProcessors(t *testing.T, s *Server) (free func()) {
	t.Helper()
	var all []func()
	for client := range min(runtime.GOMAXPROCS(0), runtime.NumCPU()) {
		free, err := hold(func(fn func() error) error {
			return s.InTurn(forClient(client), func(context.Context) error { return fn() })
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, free)
	}
	return func() {
		for _, free := range all {
			free()
		}
	}
}

// Requests that take long leave room for the others.
func TestHeavy(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.MaxConcurrent = 4 }, all...)
	enter, leave := make(chan struct{}, 100), make(chan struct{})
	f.bounds.tile = func(ctx context.Context, _ uint64, tile quadkey.Tile, _ []tiles.Selector) ([]byte, error) {
		if tile.Z > 2 {
			return []byte{}, nil
		}
		enter <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return []byte{}, ctx.Err()
	}
	first := make(chan *http.Response)
	go func() { first <- f.get("/tiles/country/1/0/0.png") }()
	<-enter
	for _, path := range []string{"/tiles/country/5/1/0.png", "/regions/within?bbox=1,2,3,4", "/places/within?bbox=1,2,3,4", "/places/search?q=a"} {
		if res := f.get(path); res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no word on when to come back", path)
		}
		wantProblem(t, f.get(path), 503, "too-busy")
	}
	for _, path := range []string{"/tiles/country/5/1/0.geojson", "/places/nearby?lat=1&lon=2"} {
		if res := f.get(path); res.StatusCode != 200 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	close(leave)
	if res := <-first; res.StatusCode != 200 {
		t.Errorf("the first: %d", res.StatusCode)
	}
	for range 2 { // every place is free again
		if res := f.get("/tiles/country/5/1/0.png"); res.StatusCode != 200 {
			t.Errorf("afterwards: %d", res.StatusCode)
		}
	}
}

// Compressing a large tile is heavy. A small one, one that is sent as it is and
// one that is kept are not.
func TestHeavyTile(t *testing.T) {
	f := newFixture(t, nil, all...)
	f.bounds.tile = func(_ context.Context, _ uint64, tile quadkey.Tile, _ []tiles.Selector) ([]byte, error) {
		return make([]byte, 192<<10+1-int(tile.Z)), nil
	}
	s := Compose(&f.cfg, Faces())
	f.handler = s.Handler()
	const large, small, packed = "/tiles/country/0/0/0.mvt", "/tiles/country/1/0/0.mvt", "Accept-Encoding"
	free := fillHeavy(s)
	for _, ask := range []struct{ path, coding, sent string }{
		{large, "br", ""}, {large, "identity", ""}, {small, "br", "br"},
	} {
		res := f.get(ask.path, packed, ask.coding)
		if got := res.Header.Get("Content-Encoding"); res.StatusCode != http.StatusOK || got != ask.sent {
			t.Errorf("%s as %s without a place: %d as %q, want %q", ask.path, ask.coding, res.StatusCode, got, ask.sent)
		}
	}
	if a, b := f.get(large, packed, "br").Header.Get("Etag"), f.get(large, packed, "identity").Header.Get("Etag"); a != b {
		t.Errorf("a tile that is sent as it is has the tag %s, not its own, %s", a, b)
	}
	free()
	if res := f.get(large, packed, "br"); res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "br" {
		t.Errorf("with a place: %d as %q", res.StatusCode, res.Header.Get("Content-Encoding"))
	}
	if n := s.Heavy.Taken(); n != 0 {
		t.Errorf("%d places are not given back", n)
	}
	defer fillHeavy(s)()
	if res := f.get(large, packed, "br"); res.StatusCode != http.StatusOK {
		t.Errorf("kept: %d", res.StatusCode)
	}
}

// Pages of features have megabytes: no more are made at once than there are processors,
// and who waits for one gives up in time. One that is kept waits for none.
func TestPagesAreMadeByTurns(t *testing.T) {
	w := newShops(t)
	w.cfg.ResponseCacheBytes = 1 << 20
	s := Compose(&w.cfg, Faces())
	w.handler = s.Handler()
	s.Timeout = 20 * time.Millisecond
	pages := []string{"/ogc/collections/places/items?limit=1", "/ogc/collections/points:drivers/items"}
	full := func(path string) *http.Response {
		defer fillProcessors(t, s)()
		return w.get(path)
	}
	for _, path := range pages {
		wantProblem(t, full(path), http.StatusServiceUnavailable, "timeout")
	}
	if res := full("/tiles/country/0/0/0.mvt"); res.StatusCode != http.StatusOK {
		t.Errorf("a tile: %d", res.StatusCode)
	}
	s.Timeout = 10 * time.Second
	for range 2 * runtime.GOMAXPROCS(0) { // every place is given back
		for _, path := range pages {
			if res := w.get(path); res.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %s", path, res.StatusCode, body(t, res))
			}
		}
	}
	if res := full(pages[0]); res.StatusCode != http.StatusOK {
		t.Errorf("kept: %d", res.StatusCode)
	}
}
