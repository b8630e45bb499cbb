package servertest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/paulmach/orb"
	orbmvt "github.com/paulmach/orb/encoding/mvt"

	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// TestSeeksPerTile tests that a tile needs one seek per family. Vector tiles need two families for
// each region type: polygons with borders, and labels. This applies at every zoom, on land, at sea,
// on borders and on the antimeridian, in both formats, whether features are found or not.
func TestSeeksPerTile(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewWorld(t)
	at := map[string][2]float64{
		"land":         {toyworld.West + 0.5, 47},
		"border":       {toyworld.MiddleLon + 0.1, 48.5},
		"sea":          {-30, 10},
		"corner":       {toyworld.West, toyworld.North},
		"antimeridian": {-180, 0},
		"pole":         {0, -90},
	}
	for _, layers := range []struct {
		list  string
		types int64
	}{{"country", 1}, {"country,state", 2}, {"state,country", 2}} {
		w.Get("/tiles/" + layers.list + "/0/0/0.mvt")
		for name, p := range at {
			for z := range uint8(quadkey.MaxZoom + 1) {
				tile, err := quadkey.TileAt(p[0], p[1], z)
				if err != nil {
					t.Fatal(err)
				}
				for ext, families := range map[string]int64{"mvt": 2, "geojson": 1} {
					before := w.Seeks()
					path := fmt.Sprintf("/tiles/%s/%s.%s", layers.list, tile, ext)
					if res := w.Get(path); res.StatusCode != 200 && res.StatusCode != 204 {
						t.Fatalf("%s: %d %s", path, res.StatusCode, servertest.Body(t, res))
					}
					if got := w.Seeks() - before; got != families*layers.types {
						t.Errorf("%s (%s): %d seeks, want %d", path, name, got, families*layers.types)
					}
				}
			}
		}
	}
	// A cached tile and a matching ETag cost no seeks.
	w.Config.ResponseCacheBytes = 1 << 20
	w.Serve()
	const path = "/tiles/country/5/16/11.mvt"
	etag := w.Get(path).Header.Get("Etag")
	before := w.Seeks()
	w.Get(path)
	if res := w.Get(path, "If-None-Match", etag); res.StatusCode != http.StatusNotModified {
		t.Errorf("%d with its tag", res.StatusCode)
	}
	if got := w.Seeks() - before; got != 0 {
		t.Errorf("%d seeks for what was known", got)
	}
}

// A place is in exactly one tile of a zoom, and vector tiles have the coordinates of places.
func TestRealPlacesTiles(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewWorld(t)
	parent := quadkey.Tile{Z: 15, X: 16930, Y: 11400}
	seen := map[float64]quadkey.Tile{}
	for y := parent.Y - 6; y < parent.Y+6; y++ {
		for x := parent.X - 6; x < parent.X+6; x++ {
			tile := quadkey.Tile{Z: 15, X: x, Y: y}
			res := w.Get("/tiles/places/" + tile.String() + ".mvt")
			if res.StatusCode == http.StatusNoContent {
				continue
			}
			layers, err := orbmvt.Unmarshal([]byte(servertest.Body(t, res)))
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
				if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(fmt.Sprintf("/places/%.0f", id)))), &place); err != nil {
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
