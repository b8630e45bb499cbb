//go:build !race

package servertest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places"
	"quadrille/tiles/build"
)

// pinnedTiles returns the address of tiles from a TileJSON, without the host.
func pinnedTiles(f *servertest.Server, path string) string {
	f.T.Helper()
	var doc tile.TileJSON
	if err := json.Unmarshal([]byte(servertest.Body(f.T, f.Get(path))), &doc); err != nil || len(doc.Tiles) != 1 {
		f.T.Fatalf("%s: %v %v", path, doc, err)
	}
	_, address, _ := strings.Cut(doc.Tiles[0], "example.com")
	return strings.NewReplacer("{z}", "3", "{x}", "4", "{y}", "2").Replace(address)
}

func TestPinnedTiles(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	if plain := pinnedTiles(f, "/tiles/country.json"); strings.Contains(plain, "/g/") {
		t.Errorf("pinned without being asked: %s", plain)
	}
	first := pinnedTiles(f, "/tiles/country,places.json?pinned=true")
	if !strings.HasPrefix(first, "/g/boundaries.1.places.1-") || !strings.HasSuffix(first, "/tiles/country,places/3/4/2.mvt") {
		t.Fatalf("pinned to %s", first)
	}
	ofPlaces := pinnedTiles(f, "/tiles/places.json?pinned=true")
	if !strings.HasPrefix(ofPlaces, "/g/places.1-") {
		t.Fatalf("pinned to %s", ofPlaces)
	}
	same, res := f.Get("/tiles/country,places/3/4/2.mvt"), f.Get(first)
	want := servertest.Body(t, same)
	if b := servertest.Body(t, res); res.StatusCode != 200 || b != want || res.Header.Get("Etag") != same.Header.Get("Etag") ||
		res.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("%d %v %q", res.StatusCode, res.Header, b)
	}
	if res := f.Get(first, "If-None-Match", same.Header.Get("Etag")); res.StatusCode != 304 ||
		!strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("304: %d %v", res.StatusCode, res.Header)
	}

	// Addresses from releases up to 0.16 still work.
	id := func(s dataset.Status) uint64 { return ask.IdentityOf(s.Serving) }
	mark := uint32(web.HashStart.Number(id(f.Config.Boundaries.Status())).Number(id(f.Config.Places.Status())).Number(0) >> 32)
	for address, status := range map[string]int{
		fmt.Sprintf("/g/1.1.0-%08x/tiles/country,places/3/4/2.mvt", mark):   200,
		fmt.Sprintf("/g/1.1.0-%08x/tiles/country,places/3/4/2.mvt", mark+1): 410,
	} {
		if res := f.Get(address); res.StatusCode != status || status == 200 && servertest.Body(t, res) != want {
			t.Errorf("%s: %d", address, res.StatusCode)
		}
	}

	// Another generation of one of these data sets does not change the address.
	f.PublishRows(servertest.Regions(build.Layer{
		Type:     "country",
		Features: []build.Feature{servertest.Region("fr", "Frankreich", -4.7, 42.4, 5.9, 51)},
	}))
	second := pinnedTiles(f, "/tiles/country,places.json?pinned=true")
	if !strings.HasPrefix(second, "/g/boundaries.2.places.1-") {
		t.Fatalf("pinned to %s", second)
	}
	if pinnedTiles(f, "/tiles/places.json?pinned=true") != ofPlaces {
		t.Error("new boundaries changed the address of places")
	}
	newest := servertest.Body(t, f.Get("/tiles/country,places/3/4/2.mvt"))
	if newest == want {
		t.Fatal("the generations look alike")
	}
	for address, want := range map[string]string{first: want, second: newest} {
		if got := servertest.Body(t, f.Get(address)); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}

	for _, tt := range []struct {
		path   string
		status int
		typ    string
	}{
		{strings.Replace(first, "boundaries.1.places.1", "boundaries.9.places.1", 1), 404, "generation-unknown"},
		{strings.Replace(first, "boundaries.1.places.1", "boundaries.1.places.1.airports.1", 1), 404, "generation-unknown"}, // no airports here
		{strings.Replace(first, "boundaries.1.places.1", "boundaries.01.places.1", 1), 404, "generation-unknown"},
		{strings.Replace(first, "boundaries.1.places.1-", "places.1.boundaries.1-", 1), 404, "generation-unknown"},
		{strings.Replace(first, "-", "-0", 1), 404, "generation-unknown"},
		{strings.Replace(first, "boundaries.1.places.1", "boundaries.0.places.0", 1), 404, "generation-unknown"},
		{strings.Replace(first, "boundaries.1.places.1", "boundaries.1", 1), 410, "generation-gone"}, // the mark of other generations
		{strings.Replace(first, "boundaries.1.places.1", "boundaries.99999999999999999999.places.1", 1), 404, "generation-unknown"},
		{strings.Replace(first, "country", "nowhere", 1), 404, "unknown-layer"},
		{strings.Replace(ofPlaces, "tiles/places", "tiles/country", 1), 404, "dataset-missing"},
		{strings.Replace(first, "/3/4/2", "/3/9/2", 1), 404, "tile-outside"},
		{"/tiles/country.json?pinned=maybe", 400, "bad-parameter"},
	} {
		servertest.WantProblem(t, f.Get(tt.path), tt.status, tt.typ)
	}

	// The generation is removed while other data sets are in use.
	f.Publish(ask.Boundaries.Name)
	f.Poll()
	f.Config.Boundaries.Close()
	f.Config.Boundaries = ask.PublishedSets(f.Catalog.Generations).Boundaries
	f.Poll()
	f.Serve()
	if _, err := f.Catalog.Prune(t.Context(), 0, 0, ask.Boundaries.Name); err != nil {
		t.Fatal(err)
	}
	servertest.WantProblem(t, f.Get(first), 410, "generation-gone")
	if res := f.Get(ofPlaces); res.StatusCode >= 400 {
		t.Errorf("places: %d", res.StatusCode)
	}
}

// TestIdentity tests two data directories that are built in the same second, with numbers from one.
// They share neither addresses nor ETags, unless their content is the same.
func TestIdentity(t *testing.T) {
	of := func(name string) []*servertest.Rows {
		return []*servertest.Rows{
			servertest.Regions(build.Layer{Type: "country", Features: []build.Feature{servertest.Region("aa", name, 2, 45, 3, 46)}}),
			servertest.Places([]places.Place{{ID: 1, Name: name, Class: "P"}}, nil, places.Gazetteer{}),
		}
	}
	open := func(rows []*servertest.Rows) *servertest.Server {
		f := servertest.New(t, func(c *httpapi.Config) { c.PinTiles = true })
		f.PublishRows(rows...)
		return f
	}
	rows := of("a")
	a, b, copied := open(rows), open(of("b")), open(rows)
	pinned := pinnedTiles(a, "/tiles/country.json")
	if other := pinnedTiles(b, "/tiles/country.json"); other == pinned {
		t.Errorf("both are at %s", pinned)
	}
	servertest.WantProblem(t, b.Get(pinned), 410, "generation-gone")
	if got := pinnedTiles(copied, "/tiles/country.json"); got != pinned {
		t.Errorf("the same data is at %s, and at %s", pinned, got)
	}
	for _, path := range []string{"/tiles/country/3/4/2.mvt", "/tiles/country.json", "/places/nearby?lat=1&lon=1"} {
		tag := a.Get(path).Header.Get("Etag")
		if res := a.Get(path, "If-None-Match", tag); tag == "" || res.StatusCode != 304 {
			t.Errorf("%s: tag %q of itself gets %d", path, tag, res.StatusCode)
		}
		if res := b.Get(path, "If-None-Match", tag); res.StatusCode != 200 {
			t.Errorf("%s: the tag of another gets %d", path, res.StatusCode)
		}
		if res := copied.Get(path, "If-None-Match", tag); res.StatusCode != 304 {
			t.Errorf("%s: the tag of the same gets %d", path, res.StatusCode)
		}
	}
}

func TestPinnedByDefault(t *testing.T) {
	f := servertest.New(t, func(c *httpapi.Config) { c.PinTiles = true }, servertest.DefaultDatasets...)
	if got := pinnedTiles(f, "/tiles/country.json"); !strings.HasPrefix(got, "/g/boundaries.1-") {
		t.Errorf("pinned to %s", got)
	}
	plain, pinned := f.Get("/tiles/country.json?pinned=false"), f.Get("/tiles/country.json")
	if b := servertest.Body(t, plain); strings.Contains(b, "/g/") || plain.Header.Get("Etag") == pinned.Header.Get("Etag") {
		t.Errorf("%s, tags %s and %s", b, plain.Header.Get("Etag"), pinned.Header.Get("Etag"))
	}
}
