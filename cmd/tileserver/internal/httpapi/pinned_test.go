package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/datasets"
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
	f.cfg.Boundaries = dataset.NewLive(f.catalog, catalogue.Boundaries.Name, func(g *dataset.Generation) (datasets.Boundaries, error) {
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
