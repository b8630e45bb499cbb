//go:build !race

package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// pinnedTiles is the address of tiles that a TileJSON gives, without its host.
func (f *fixture) pinnedTiles(path string) string {
	f.t.Helper()
	var doc tile.TileJSON
	if err := json.Unmarshal([]byte(body(f.t, f.get(path))), &doc); err != nil || len(doc.Tiles) != 1 {
		f.t.Fatalf("%s: %v %v", path, doc, err)
	}
	_, address, _ := strings.Cut(doc.Tiles[0], "example.com")
	return strings.NewReplacer("{z}", "3", "{x}", "4", "{y}", "2").Replace(address)
}

func TestPinnedTiles(t *testing.T) {
	f := newFixture(t, nil, all...)
	f.bounds.tile = func(_ context.Context, generation uint64, tile quadkey.Tile, _ []tiles.Selector) ([]byte, error) {
		return fmt.Appendf(nil, "tile %v of generation %d", tile, generation), nil
	}
	if plain := f.pinnedTiles("/tiles/country.json"); strings.Contains(plain, "/g/") {
		t.Errorf("pinned without being asked: %s", plain)
	}
	first := f.pinnedTiles("/tiles/country,places.json?pinned=true")
	if !strings.HasPrefix(first, "/g/1.1.0-") || !strings.HasSuffix(first, "/tiles/country,places/3/4/2.mvt") {
		t.Fatalf("pinned to %s", first)
	}
	places := f.pinnedTiles("/tiles/places.json?pinned=true")
	if !strings.HasPrefix(places, "/g/0.1.0-") {
		t.Fatalf("pinned to %s", places)
	}
	same, res := f.get("/tiles/country,places/3/4/2.mvt"), f.get(first)
	want := body(t, same)
	if b := body(t, res); res.StatusCode != 200 || b != want || res.Header.Get("Etag") != same.Header.Get("Etag") ||
		res.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("%d %v %q", res.StatusCode, res.Header, b)
	}
	if res := f.get(first, "If-None-Match", same.Header.Get("Etag")); res.StatusCode != 304 || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("304: %d %v", res.StatusCode, res.Header)
	}

	// Another generation of one of them leaves the address as it was.
	f.publish(catalogue.Boundaries.Name)
	f.poll()
	second := f.pinnedTiles("/tiles/country,places.json?pinned=true")
	if !strings.HasPrefix(second, "/g/2.1.0-") {
		t.Fatalf("pinned to %s", second)
	}
	if f.pinnedTiles("/tiles/places.json?pinned=true") != places {
		t.Error("new boundaries changed the address of places")
	}
	newest := body(t, f.get("/tiles/country,places/3/4/2.mvt"))
	if newest == want {
		t.Fatal("the generations look alike")
	}
	for address, want := range map[string]string{first: want, second: newest} {
		if got := body(t, f.get(address)); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}

	for _, tt := range []struct {
		path   string
		status int
		typ    string
	}{
		{strings.Replace(first, "1.1.0", "9.1.0", 1), 404, "generation-unknown"},
		{strings.Replace(first, "1.1.0", "1.1.1", 1), 404, "generation-unknown"}, // no airports here
		{strings.Replace(first, "1.1.0", "01.1.0", 1), 404, "generation-unknown"},
		{strings.Replace(first, "1.1.0-", "1.1-", 1), 404, "generation-unknown"},
		{strings.Replace(first, "-", "-0", 1), 404, "generation-unknown"},
		{strings.Replace(first, "1.1.0", "0.0.0", 1), 404, "generation-unknown"},
		{strings.Replace(first, "1.1.0", "1.0.0", 1), 410, "generation-gone"}, // the mark of others
		{strings.Replace(first, "1.1.0", "99999999999999999999.1.0", 1), 404, "generation-unknown"},
		{strings.Replace(first, "country", "nowhere", 1), 404, "unknown-layer"},
		{strings.Replace(places, "places", "country", 1), 404, "dataset-missing"},
		{strings.Replace(first, "/3/4/2", "/3/9/2", 1), 404, "tile-outside"},
		{"/tiles/country.json?pinned=maybe", 400, "bad-parameter"},
	} {
		wantProblem(t, f.get(tt.path), tt.status, tt.typ)
	}

	// Removed, while others are in use.
	f.publish(catalogue.Boundaries.Name)
	f.poll()
	f.cfg.Boundaries.Close()
	f.cfg.Boundaries = dataset.NewLive(f.catalog, catalogue.Boundaries.Name, func(g *dataset.Generation) (ask.Boundaries, error) {
		return &boundBoundaries{&f.bounds, g.Manifest.Generation}, nil
	})
	f.poll()
	f.handler = New(f.cfg)
	if _, err := f.catalog.Prune(t.Context(), 0, 0, catalogue.Boundaries.Name); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, f.get(first), 410, "generation-gone")
	if res := f.get(places); res.StatusCode >= 400 {
		t.Errorf("places: %d", res.StatusCode)
	}
}

// TestIdentity: two data directories built in the same second, each counting from one,
// share neither addresses nor entity tags, unless they hold the same.
func TestIdentity(t *testing.T) {
	open := func(rows string) *fixture {
		f := newFixture(t, func(c *Config) { c.PinTiles = true })
		f.rows = rows
		f.bounds.tile = func(context.Context, uint64, quadkey.Tile, []tiles.Selector) ([]byte, error) {
			return []byte(rows), nil
		}
		for _, name := range all {
			f.publish(name)
		}
		f.poll()
		f.handler = New(f.cfg)
		return f
	}
	a, b, copied := open("of a"), open("of b"), open("of a")
	pinned := a.pinnedTiles("/tiles/country.json")
	if other := b.pinnedTiles("/tiles/country.json"); other == pinned {
		t.Errorf("both are at %s", pinned)
	}
	wantProblem(t, b.get(pinned), 410, "generation-gone")
	if got := copied.pinnedTiles("/tiles/country.json"); got != pinned {
		t.Errorf("the same data is at %s, and at %s", pinned, got)
	}
	for _, path := range []string{"/tiles/country/3/4/2.mvt", "/tiles/country.json", "/places/nearby?lat=1&lon=1"} {
		tag := a.get(path).Header.Get("Etag")
		if res := a.get(path, "If-None-Match", tag); tag == "" || res.StatusCode != 304 {
			t.Errorf("%s: tag %q of itself gets %d", path, tag, res.StatusCode)
		}
		if res := b.get(path, "If-None-Match", tag); res.StatusCode != 200 {
			t.Errorf("%s: the tag of another gets %d", path, res.StatusCode)
		}
		if res := copied.get(path, "If-None-Match", tag); res.StatusCode != 304 {
			t.Errorf("%s: the tag of the same gets %d", path, res.StatusCode)
		}
	}
}

func TestPinnedByDefault(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.PinTiles = true }, all...)
	if got := f.pinnedTiles("/tiles/country.json"); !strings.HasPrefix(got, "/g/1.0.0-") {
		t.Errorf("pinned to %s", got)
	}
	plain, pinned := f.get("/tiles/country.json?pinned=false"), f.get("/tiles/country.json")
	if b := body(t, plain); strings.Contains(b, "/g/") || plain.Header.Get("Etag") == pinned.Header.Get("Etag") {
		t.Errorf("%s, tags %s and %s", b, plain.Header.Get("Etag"), pinned.Header.Get("Etag"))
	}
}
