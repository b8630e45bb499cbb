package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paulmach/orb"
	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/internal/toyworld"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// world is the whole chain over the toy world: real builders, stores and
// readers.
type world struct {
	fixture
	// store is that of the boundaries in service.
	store atomic.Value
}

// toyData is where the toy world has been published, once for all tests.
var toyData = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "httpapi")
	if err != nil {
		return "", err
	}
	toyDir = dir
	return dir, toyworld.Publish(context.Background(), dir)
})

var toyDir string // for TestMain to remove

func TestMain(m *testing.M) {
	code := m.Run()
	if toyDir != "" {
		os.RemoveAll(toyDir)
	}
	os.Exit(code)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := toyData()
	if err != nil {
		t.Fatal(err)
	}
	c, err := dataset.Open(dir, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{fixture: fixture{t: t, catalog: c}}
	w.cfg = Config{
		Sets: ask.Sets{
			Boundaries: dataset.NewLive(c, catalogue.Boundaries.Name, func(g *dataset.Generation) (ask.Boundaries, error) {
				w.store.Store(g.Store)
				return catalogue.Boundaries.Open(g)
			}),
			Places:    catalogue.Live[ask.Places](c.Generations, catalogue.Places),
			Addresses: catalogue.Live[ask.Addresses](c.Generations, catalogue.IP),
		},
	}
	w.poll()
	w.handler = New(w.cfg)
	t.Cleanup(func() {
		for _, err := range []error{w.cfg.Boundaries.Close(), w.cfg.Places.Close(), w.cfg.Addresses.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// seeks is how often iterators of the boundaries have been positioned.
func (w *world) seeks() int64 { return w.store.Load().(cellstore.StatsReader).Stats().Seeks }

// TestSeeksPerTile: one seek per family, of which vector tiles need two for
// each region type, polygons with borders and labels, at every zoom, on land, at sea,
// on borders and on the antimeridian, in both formats, found or not.
func TestSeeksPerTile(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := newWorld(t)
	at := map[string][2]float64{
		"land":         {toyworld.West + 0.5, 47},
		"border":       {toyworld.Middle + 0.1, 48.5},
		"sea":          {-30, 10},
		"corner":       {toyworld.West, toyworld.North},
		"antimeridian": {-180, 0},
		"pole":         {0, -90},
	}
	for _, layers := range []struct {
		list  string
		types int64
	}{{"country", 1}, {"country,state", 2}, {"state,country", 2}} {
		w.get("/tiles/" + layers.list + "/0/0/0.mvt")
		for name, p := range at {
			for z := range uint8(quadkey.MaxZoom + 1) {
				tile, err := quadkey.TileAt(p[0], p[1], z)
				if err != nil {
					t.Fatal(err)
				}
				for ext, families := range map[string]int64{"mvt": 2, "geojson": 1} {
					before := w.seeks()
					path := fmt.Sprintf("/tiles/%s/%s.%s", layers.list, tile, ext)
					if res := w.get(path); res.StatusCode != 200 && res.StatusCode != 204 {
						t.Fatalf("%s: %d %s", path, res.StatusCode, body(t, res))
					}
					if got := w.seeks() - before; got != families*layers.types {
						t.Errorf("%s (%s): %d seeks, want %d", path, name, got, families*layers.types)
					}
				}
			}
		}
	}
	// A kept tile and a tag cost none.
	w.cfg.ResponseCacheBytes = 1 << 20
	w.handler = New(w.cfg)
	const path = "/tiles/country/5/16/11.mvt"
	etag := w.get(path).Header.Get("Etag")
	before := w.seeks()
	w.get(path)
	if res := w.get(path, "If-None-Match", etag); res.StatusCode != http.StatusNotModified {
		t.Errorf("%d with its tag", res.StatusCode)
	}
	if got := w.seeks() - before; got != 0 {
		t.Errorf("%d seeks for what was known", got)
	}
}

// TestRegionsAtSeeks: a point costs one seek per type too.
func TestRegionsAtSeeks(t *testing.T) {
	w := newWorld(t)
	for _, q := range []string{"lat=47&lon=4.5", "lat=48.5&lon=6.1", "lat=10&lon=-30", "lat=0&lon=180", "lat=90&lon=0", "lat=-90&lon=-180"} {
		before := w.seeks()
		if res := w.get("/regions/at?" + q); res.StatusCode != 200 {
			t.Fatalf("%s: %s", q, body(t, res))
		}
		if got := w.seeks() - before; got != 2 {
			t.Errorf("%s: %d seeks, want 2", q, got)
		}
	}
}

func TestRealAnswers(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := newWorld(t)
	for _, tt := range []struct{ path, want string }{
		{"/regions/at?lat=47&lon=4.5", `{"lat":47,"lon":4.5,"regions":[{"type":"country","id":"wl","name":"Westland"},{"type":"state","id":"wl-s","name":"South Westland"}]}`},
		{"/regions/at?lat=47&lon=4.5&types=state", `{"lat":47,"lon":4.5,"regions":[{"type":"state","id":"wl-s","name":"South Westland"}]}`},
		{"/regions/at?lat=0&lon=180", `{"lat":0,"lon":180,"regions":[{"type":"country","id":"is","name":"Islands"}]}`},
		{"/regions/at?lat=0&lon=-179.5", `{"lat":0,"lon":-179.5,"regions":[{"type":"country","id":"is","name":"Islands"}]}`},
		{"/regions/at?lat=0&lon=0", `{"lat":0,"lon":0,"regions":[]}`},
	} {
		if got := body(t, w.get(tt.path)); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.path, got, tt.want)
		}
	}

	var record struct {
		Type, ID, Name string
		Geometry       *geojson.Geometry
	}
	if err := json.Unmarshal([]byte(body(t, w.get("/regions/country/el?geometry=true"))), &record); err != nil {
		t.Fatal(err)
	}
	if record.Name != `East<land> & "Co"` || record.Geometry == nil || record.Geometry.Type != "Polygon" {
		t.Errorf("record %+v", record)
	}
	if b := body(t, w.get("/regions/country/el")); strings.Contains(b, "coordinates") || !json.Valid([]byte(b)) {
		t.Errorf("record without geometry: %s", b)
	}
	wantProblem(t, w.get("/regions/country/xx"), 404, "region-not-found")
	wantProblem(t, w.get("/regions/planet/xx"), 404, "unknown-layer")
	wantProblem(t, w.get("/places/4000000000"), 404, "place-not-found")

	// Both formats of a tile name the same regions.
	for _, path := range []string{"/tiles/country,state/5/16/11", "/tiles/all/9/263/178", "/tiles/country:wl,state:wl-n/6/32/22", "/tiles/all/15/16930/11400"} {
		fc, err := geojson.UnmarshalFeatureCollection([]byte(body(t, w.get(path+".geojson"))))
		if err != nil {
			t.Fatal(err)
		}
		layers, err := orbmvt.Unmarshal([]byte(body(t, w.get(path+".mvt"))))
		if err != nil {
			t.Fatal(err)
		}
		var geo, vec []string
		for _, f := range fc.Features {
			if f.Geometry.GeoJSONType() != "Point" {
				geo = append(geo, fmt.Sprint(f.Properties["type"], ":", f.Properties["id"]))
			}
		}
		for _, l := range layers {
			for _, f := range l.Features {
				if l.Name != "places" {
					vec = append(vec, fmt.Sprint(l.Name, ":", f.Properties["id"]))
				}
			}
		}
		slices.Sort(geo)
		slices.Sort(vec)
		// A vector tile has a buffer, so it may hold a region more.
		for _, id := range geo {
			if !slices.Contains(vec, id) {
				t.Errorf("%s: GeoJSON has %v, the vector tile %v", path, geo, vec)
			}
		}
		if len(geo) == 0 {
			t.Errorf("%s: no regions", path)
		}
	}

	var nearby struct {
		Places []struct {
			ID        uint32
			Lat, Lon  float64
			Distance  float64 `json:"distance_m"`
			Class     string
			CountryIn string `json:"country"`
		}
		Next string
	}
	if err := json.Unmarshal([]byte(body(t, w.get("/places/nearby?lat=48&lon=6&limit=25&class=P&country=WS"))), &nearby); err != nil {
		t.Fatal(err)
	}
	if len(nearby.Places) != 25 || nearby.Next == "" {
		t.Fatalf("%d places, next %q", len(nearby.Places), nearby.Next)
	}
	last := -1.0
	for _, p := range nearby.Places {
		if d := quadkey.Distance(6, 48, p.Lon, p.Lat); math.Abs(d-p.Distance) > 0.1 || d < last-0.1 || p.Class != "P" || p.CountryIn != "WS" {
			t.Errorf("%+v is %f m away", p, d)
		}
		last = p.Distance
	}
	first := nearby.Places[24].ID
	if err := json.Unmarshal([]byte(body(t, w.get("/places/nearby?lat=48&lon=6&limit=25&class=P&country=WS&cursor="+nearby.Next))), &nearby); err != nil {
		t.Fatal(err)
	}
	if nearby.Places[0].ID == first || nearby.Places[0].Distance < last {
		t.Errorf("second page begins with %+v", nearby.Places[0])
	}
	wantProblem(t, w.get("/places/nearby?lat=48&lon=6&cursor=AAAA"), 400, "bad-parameter")

	if b := body(t, w.get("/places/1")); !strings.Contains(b, `"name":"Place 1 – \"Ü\""`) {
		t.Errorf("place: %s", b)
	}
	for i := range 50 {
		a := toyworld.Address(i * 37)
		var answer struct {
			IP, Source string
			Country    struct {
				ISOCode string `json:"iso_code"`
			}
			Traits struct{ Network string }
		}
		b := body(t, w.get("/ip/"+a.String()))
		if err := json.Unmarshal([]byte(b), &answer); err != nil || answer.IP != a.String() || answer.Source != "toy ip" || answer.Country.ISOCode == "" || answer.Traits.Network == "" {
			t.Fatalf("%s: %v %s", a, err, b)
		}
	}
	wantProblem(t, w.get("/ip/11.0.15.1"), 404, "address-not-found")
	wantProblem(t, w.get("/ip/127.0.0.1"), 404, "address-reserved")
}

// Places are in exactly one tile of a zoom, and their coordinates in vector
// tiles are theirs.
func TestRealPlacesTiles(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := newWorld(t)
	parent := quadkey.Tile{Z: 15, X: 16930, Y: 11400}
	seen := map[float64]quadkey.Tile{}
	for y := parent.Y - 6; y < parent.Y+6; y++ {
		for x := parent.X - 6; x < parent.X+6; x++ {
			tile := quadkey.Tile{Z: 15, X: x, Y: y}
			res := w.get("/tiles/places/" + tile.String() + ".mvt")
			if res.StatusCode == http.StatusNoContent {
				continue
			}
			layers, err := orbmvt.Unmarshal([]byte(body(t, res)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range layers[0].Features {
				id := f.Properties["id"].(float64)
				if was, ok := seen[id]; ok {
					t.Errorf("place %v in %s and %s", id, was, tile)
				}
				seen[id] = tile
				p := f.Geometry.(orb.Point)
				if p[0] < 0 || p[0] > 4095 || p[1] < 0 || p[1] > 4095 {
					t.Errorf("place %v at %v in %s", id, p, tile)
				}
				var place struct{ Lat, Lon float64 }
				if err := json.Unmarshal([]byte(body(t, w.get(fmt.Sprintf("/places/%.0f", id)))), &place); err != nil {
					t.Fatal(err)
				}
				n := float64(int(1) << 15)
				lon, lat := quadkey.Unproject((float64(x)+(p[0]+0.5)/4096)/n, (float64(y)+(p[1]+0.5)/4096)/n)
				if d := quadkey.Distance(lon, lat, place.Lon, place.Lat); d > 1 {
					t.Errorf("place %v is %f m from where the tile has it", id, d)
				}
			}
		}
	}
	t.Logf("%d places", len(seen))
}

// TestHotAllocations: a kept tile is served with next to no allocation of
// ours.
func TestHotAllocations(t *testing.T) {
	testrace.Plain(t, "it makes pools forget, and forgetting allocates")
	w := newWorld(t)
	w.cfg.ResponseCacheBytes = 1 << 20
	w.handler = New(w.cfg)
	r := httptest.NewRequest("GET", "/tiles/country,state/5/16/11.mvt", nil)
	out := &discard{header: http.Header{}}
	w.handler.ServeHTTP(out, r)
	if n := testing.AllocsPerRun(500, func() {
		clear(out.header)
		w.handler.ServeHTTP(out, r)
	}); n > 1 {
		t.Errorf("%v allocations for a kept tile", n)
	}
	r = httptest.NewRequest("GET", "/ip/"+toyworld.Address(42).String(), nil)
	if n := testing.AllocsPerRun(500, func() {
		clear(out.header)
		w.handler.ServeHTTP(out, r)
	}); n > 6 {
		t.Errorf("%v allocations for an address", n)
	}
}

// discard is a ResponseWriter that keeps nothing but the size.
type discard struct {
	header http.Header
	bytes  int
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(b []byte) (int, error) {
	d.bytes += len(b)
	return len(b), nil
}
