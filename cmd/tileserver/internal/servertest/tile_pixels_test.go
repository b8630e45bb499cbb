package servertest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// A tile for 512 pixels has the places of its four child tiles, in the same order in both formats.
func TestTwiceThePixels(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewWorld(t)
	type place struct {
		id, people float64
		text       string
	}
	features := func(path string) (all []place) {
		t.Helper()
		var list struct {
			Features []struct {
				ID         float64
				Properties struct {
					Name, Code string
					Population float64
				}
			}
		}
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(path))), &list); err != nil {
			t.Fatal(path, err)
		}
		for _, f := range list.Features {
			all = append(all, place{f.ID, f.Properties.Population, f.Properties.Name + " " + f.Properties.Code})
		}
		return all
	}
	for _, tile := range []string{"0/0/0", "4/8/5", "9/264/178", "10/529/357", "11/1058/714", "14/8465/5713", "22/0/0"} {
		var parsed quadkey.Tile
		if _, err := fmt.Sscanf(tile, "%d/%d/%d", &parsed.Z, &parsed.X, &parsed.Y); err != nil {
			t.Fatal(err)
		}
		var want []place
		for _, part := range parsed.Children() {
			if part.Valid() {
				want = append(want, features("/tiles/places/"+part.String()+".geojson")...)
			}
		}
		got := features("/tiles/places/" + tile + ".geojson?pixels=512")
		if !slices.IsSortedFunc(got, func(a, b place) int { return int(b.people - a.people) }) {
			t.Errorf("%s: %v are not in the order of importance", tile, got)
		}
		var drawn []place
		layers, err := orbmvt.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/places/"+tile+".mvt?pixels=512"))))
		if err == nil && len(layers) > 0 {
			for _, f := range layers[0].Features {
				people, _ := f.Properties["population"].(float64)
				drawn = append(drawn, place{f.Properties["id"].(float64), people, fmt.Sprint(f.Properties["name"], " ", f.Properties["code"])})
			}
		}
		if !slices.Equal(got, drawn) {
			t.Errorf("%s: the vector tile has %v, GeoJSON %v: %v", tile, drawn, got, err)
		}
		byID := func(a, b place) int { return int(a.id - b.id) }
		slices.SortFunc(want, byID)
		slices.SortFunc(got, byID)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d places, want the %d of the four tiles in it", tile, len(got), len(want))
		}
	}
}

// Clusters are those of the tile above, as on the map page, but close up: every cluster in one tile.
func TestClustersOnTwiceThePixels(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	points := func(path string) (all []string) {
		layers, err := orbmvt.Unmarshal([]byte(servertest.Body(t, f.Get(path))))
		if err != nil {
			t.Fatal(path, err)
		}
		for _, l := range layers {
			for _, p := range l.Features {
				all = append(all, fmt.Sprint(p.Properties["cluster_id"], p.Properties["id"], p.Properties["point_count"]))
			}
		}
		slices.Sort(all)
		return all
	}
	for _, one := range []struct{ above, below uint8 }{{0, 1}, {1, 2}, {3, 4}, {6, 7}, {0, 0}, {16, 16}, {22, 22}} {
		for at := range tilesOfShops(t, f, one.above) {
			want, got := points("/tiles/points:shops/"+at.String()+".mvt"), []string(nil)
			parts := []quadkey.Tile{at}
			if one.below > one.above {
				c := at.Children()
				parts = c[:]
			}
			for _, part := range parts {
				got = append(got, points("/tiles/points:shops/"+part.String()+".mvt?pixels=512")...)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || len(got) == 0 {
				t.Errorf("zoom %d shows %v, want %v of %v", one.below, got, want, at)
			}
		}
	}
}

// tilesOfShops returns the tiles of a zoom that hold the first points of shops.
func tilesOfShops(t *testing.T, f *servertest.World, z uint8) map[quadkey.Tile]bool {
	var list struct {
		Points []struct{ Lat, Lon float64 }
	}
	must.Do(t, json.Unmarshal([]byte(servertest.Body(t, f.Get("/points/shops/within?bbox=-180,-85,180,85&limit=5"))), &list))
	all := map[quadkey.Tile]bool{}
	for _, p := range list.Points {
		all[must.Get(quadkey.TileAt(p.Lon, p.Lat, z)).In(t)] = true
	}
	return all
}

// The parameter is a part of addresses and ETags where it has an effect, and is refused elsewhere.
func TestPixelsParameter(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	for path, want := range map[string]string{
		"/tiles/places/3/4/2.png?pixels=512":    "@2x.png",
		"/tiles/places/3/4/2@2x.png?pixels=256": "@2x.png",
		"/tiles/places.png.json?pixels=512":     "@2x.png",
		"/tiles/places/3/4/2.mvt?pixels=1024":   "256, 512",
		"/tiles/places.json?pixels=":            "256, 512",
		"/tiles/places/3/4/2?pixels=0512":       "256, 512",
	} {
		res := f.Get(path)
		text := servertest.Body(t, res)
		if res.StatusCode != 400 || !strings.Contains(text, want) || !strings.Contains(text, `"parameter":"pixels"`) {
			t.Errorf("%s: %d %s, want 400 and %s", path, res.StatusCode, text, want)
		}
	}
	servertest.WantProblem(t, f.Get("/ogc/collections/places/tiles/WebMercatorQuad/3/2/4?f=mvt&pixels=512"), 400, "bad-parameter")
	for path, differs := range map[string]bool{
		"/tiles/places/3/4/2.mvt":              true,
		"/tiles/places/3/4/2.mlt":              true,
		"/tiles/places/3/4/2.geojson":          true,
		"/tiles/places,points:shops/3/4/2.mvt": true,
		"/tiles/places.json":                   true,
		"/tiles/points:shops/3/4/2.mvt":        true,
		"/tiles/points:shops.json":             true,
		"/tiles/country/3/4/2.mvt":             false, "/tiles/country.json": false, "/tiles/places/22/0/0.mvt": false,
	} {
		tag := func(query string) string { return f.Get(path + query).Header.Get("Etag") }
		if tag("") == "" || tag("?pixels=256") != tag("") || (tag("?pixels=512") != tag("")) != differs {
			t.Errorf("%s: tags %q, %q with 256 and %q with 512 pixels; that it differs should be %v", path, tag(""), tag("?pixels=256"),
				tag("?pixels=512"), differs)
		}
	}
	if doc := servertest.Body(t,
		f.Get("/tiles/places.json?pixels=512&names=fr")); !strings.Contains(strings.ReplaceAll(doc, `\u0026`, "&"),
		"{y}.mvt?names=fr&pixels=512") {
		t.Errorf("TileJSON: %s, want its tiles to have pixels=512", doc)
	}
}
