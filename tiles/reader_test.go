package tiles_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cellstore/pebblestore"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// TestOverzoom tests that tiles of deep zooms are cut from those of zoom 13, and that they agree
// with lookups.
func TestOverzoom(t *testing.T) {
	r, store, _ := buildReader(t, build.Layer{Type: "land", Features: []build.Feature{
		{ID: "a", Name: "A", Geometry: orb.Polygon{{{1, 1}, {2.03, 1.01}, {1.5, 2.2}}}},
		{ID: "b", Geometry: tilestest.Square(40, 40, 50, 50)},
	}})
	ctx := context.Background()
	all := []tiles.Selector{{Type: "land"}}
	rnd := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		z := uint8(14 + rnd.IntN(9))
		// The points are along the side from (1, 1) to (2.03, 1.01), and anywhere.
		f := rnd.Float64()
		lon, lat := 1+1.03*f+rnd.NormFloat64()*1e-4, 1+0.01*f+rnd.NormFloat64()*1e-4
		tile, err := quadkey.TileAt(lon, lat, z)
		if err != nil {
			t.Fatal(err)
		}
		before := store.Stats().Seeks
		got, err := r.AppendGeoJSON(ctx, nil, tile, all)
		if err != nil {
			t.Fatal(err)
		}
		if seeks := store.Stats().Seeks - before; seeks != 1 {
			t.Fatalf("%d seeks", seeks)
		}
		b := tile.Bound()
		in := ids(t, r, (b.South+b.North)/2, (b.West+b.East)/2)
		if in != "" && len(got) == 0 {
			t.Fatalf("tile %v is empty, its middle is in %q", tile, in)
		}
		var features []struct {
			ID       string
			Geometry struct{ Coordinates json.RawMessage }
		}
		if err := json.Unmarshal([]byte("["+string(got)+"]"), &features); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		vector, err := r.AppendMVT(ctx, nil, tile, all)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 0 && len(vector) == 0 {
			t.Fatalf("tile %v: GeoJSON but no vector layer", tile)
		}
	}
	// Deep inside the region the result is the whole square, with a buffer in the vector tile.
	tile, _ := quadkey.TileAt(45, 45, 20)
	got, err := r.AppendGeoJSON(ctx, nil, tile, all)
	if err != nil || strings.Count(string(got), "[4") != 5 {
		t.Errorf("inside: %s, %v", got, err)
	}
}

func TestSelectors(t *testing.T) {
	r, _, _ := buildReader(t,
		build.Layer{Type: "land", Features: []build.Feature{
			{
				ID:       "a",
				Name:     "A <b>",
				Geometry: tilestest.Square(0, 0, 10, 10),
				Properties: []build.Property{
					{Name: "iso", Value: "AA"},
					{Name: "pop", Value: int64(5)},
					{Name: "area", Value: 1.5},
					{Name: "ok", Value: true},
				},
			},
			{ID: "b", Geometry: tilestest.Square(10, 0, 20, 10)},
		}},
		build.Layer{Type: "zone", Features: []build.Feature{{ID: "z", Geometry: tilestest.Square(0, 0, 20, 10)}}})
	ctx := context.Background()
	tile := quadkey.Tile{Z: 4, X: 8, Y: 7}
	for _, c := range []struct {
		sel    []tiles.Selector
		want   string
		vector string
	}{
		{
			[]tiles.Selector{{Type: "land", ID: ""}},
			"land:a land:b",
			"land:a land:b land_line:|a land_line:b|a land_line:|b land_label:a land_label:b",
		},
		{
			[]tiles.Selector{{Type: "zone", ID: ""}, {Type: "land", ID: ""}, {Type: "zone", ID: ""}},
			"land:a land:b zone:z",
			"land:a land:b land_line:|a land_line:b|a land_line:|b land_label:a land_label:b zone:z zone_line:|z zone_label:z",
		},
		{[]tiles.Selector{{Type: "land", ID: "b"}}, "land:b", "land:b land_line:b|a land_line:|b land_label:b"},
		{
			[]tiles.Selector{{Type: "land", ID: "b"}, {Type: "land", ID: ""}},
			"land:a land:b",
			"land:a land:b land_line:|a land_line:b|a land_line:|b land_label:a land_label:b",
		},
		{[]tiles.Selector{{Type: "land", ID: "nowhere"}}, "", ""},
		{
			[]tiles.Selector{{Type: "land", ID: "a"}, {Type: "zone", ID: "z"}},
			"land:a zone:z",
			"land:a land_line:|a land_line:b|a land_label:a zone:z zone_line:|z zone_label:z",
		},
	} {
		got, err := r.AppendGeoJSON(ctx, nil, tile, c.sel)
		if err != nil {
			t.Fatal(err)
		}
		var features []struct{ ID string }
		if err := json.Unmarshal([]byte("["+string(got)+"]"), &features); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		var s []string
		for _, f := range features {
			s = append(s, f.ID)
		}
		if g := strings.Join(s, " "); g != c.want {
			t.Errorf("%v: %q, want %q", c.sel, g, c.want)
		}
		vector, err := r.AppendMVT(ctx, nil, tile, c.sel)
		if err != nil {
			t.Fatal(err)
		}
		if g := strings.Join(vectorIDs(t, vector), " "); g != c.vector {
			t.Errorf("vector %v: %q, want %q", c.sel, g, c.vector)
		}
	}
	if _, err := r.AppendMVT(ctx, nil, tile, []tiles.Selector{{Type: "sea", ID: ""}}); !errors.Is(err, tiles.ErrUnknownType) {
		t.Errorf("unknown type: %v", err)
	}
	if _, err := r.At(ctx, 0, 0, "sea"); !errors.Is(err, tiles.ErrUnknownType) {
		t.Errorf("unknown type: %v", err)
	}
	if got := ids(t, r, 5, 5, "zone", "land", "zone"); got != "a z" {
		t.Errorf("types are answered in the data set's order, each once: %q", got)
	}
	for _, c := range [][2]float64{{math.NaN(), 0}, {0, math.Inf(1)}, {91, 0}, {0, 181}} {
		if _, err := r.At(ctx, c[0], c[1]); !errors.Is(err, quadkey.ErrCoordinate) {
			t.Errorf("at %v: %v", c, err)
		}
	}
	if _, err := r.Region(ctx, "land", "x", false); !errors.Is(err, tiles.ErrNotFound) {
		t.Errorf("no region: %v", err)
	}
	rec, err := r.Region(ctx, "land", "a", false)
	const want = `{"type":"land","id":"a","name":"A \u003cb\u003e","bbox":[0,0,10,10],"map_color":2,"iso":"AA","pop":5,"area":1.5,"ok":true}`
	if err != nil || string(rec) != want {
		t.Errorf("record %s, %v", rec, err)
	}
}

// buildReader builds layers and opens a reader on them.
func buildReader(t testing.TB, layers ...build.Layer) (*tiles.Reader, *pebblestore.Store, build.Stats) {
	t.Helper()
	store := tilestest.OpenStore(t)
	meta, stats, err := build.Run(context.Background(), store, layers, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tiles.Open(context.Background(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return r, store, stats
}

// naturalEarth returns a layer of the real data, with all features or only those with the given
// ids. Without the data the test is skipped.
func naturalEarth(t testing.TB, typ, file, id, name string, only ...string) build.Layer {
	t.Helper()
	l := build.Layer{Type: typ}
	for _, s := range tilestest.NaturalEarth(t, file, id, name, only...) {
		l.Features = append(l.Features, build.Feature{ID: s.ID, Name: s.Name, Geometry: s.Geometry})
	}
	return l
}

// ids returns the ids of the regions at a point as one text.
func ids(t testing.TB, r *tiles.Reader, lat, lon float64, types ...string) string {
	t.Helper()
	found, err := r.At(context.Background(), lat, lon, types...)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, f := range found {
		s = append(s, f.ID)
	}
	return strings.Join(s, " ")
}

// Of overlapping regions of a type, At lists the smallest first. This holds in tiles inside all of
// them, across ±180° and at a pole too.
func TestSmallestFirst(t *testing.T) {
	r, _, _ := buildReader(t, build.Layer{Type: "country", Features: []build.Feature{
		{ID: "around", Geometry: tilestest.Square(5, 5, 30, 30)},
		{ID: "enclave", Geometry: tilestest.Square(10, 10, 12, 12)},
		{ID: "between", Geometry: tilestest.Square(8, 8, 20, 20)},
		{ID: "dateline", Geometry: tilestest.Square(178, 5, 184, 8)},
		{ID: "ocean", Geometry: tilestest.Square(150, 0, 180, 20)},
		{ID: "cap", Geometry: tilestest.Square(-180, 86, 180, 90)},
		{ID: "half", Geometry: tilestest.Square(0, 86, 90, 90)},
	}}, build.Layer{Type: "zone", Features: []build.Feature{{ID: "z", Geometry: tilestest.Square(0, 0, 40, 40)}}})
	for _, c := range []struct {
		lat, lon float64
		want     string
	}{
		{11, 11, "enclave between around z"}, {11.9999, 10.0001, "enclave between around z"}, {9, 9, "between around z"}, {25, 25, "around z"},
		{6, 179, "dateline ocean"}, {88, 45, "half cap"}, {88, -45, "cap"},
	} {
		for range 2 { // the second time it may be remembered
			found, err := r.At(t.Context(), c.lat, c.lon)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, f := range found {
				ids = append(ids, f.ID)
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("%v, %v: %s, want %s", c.lat, c.lon, got, c.want)
			}
		}
	}
}
