package tiles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

func square(w, s, e, n float64) orb.Polygon {
	return orb.Polygon{{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}}
}

// ids joins the regions found at a point.
func ids(t testing.TB, r *Reader, lat, lon float64, types ...string) string {
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

// The same land written in the ways sources write it: cut at ±180°, stitched
// across it with a jump, stitched with longitudes beyond 180.
func TestAntimeridian(t *testing.T) {
	for name, g := range map[string]orb.Geometry{
		"cut":      orb.MultiPolygon{square(168.75, -20, 180, 10), square(-180, -20, -168.75, 10)},
		"stitched": orb.Polygon{{{168.75, -20}, {-168.75, -20}, {-168.75, 10}, {168.75, 10}, {168.75, -20}}},
		"beyond":   orb.Polygon{{{168.75, -20}, {191.25, -20}, {191.25, 10}, {168.75, 10}, {168.75, -20}}},
		"unclosed": orb.Polygon{{{168.75, -20}, {-168.75, -20}, {-168.75, 10}, {168.75, 10}}},
		"turned":   orb.Polygon{{{168.75, -20}, {168.75, 10}, {-168.75, 10}, {-168.75, -20}, {168.75, -20}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := buildReader(t, Layer{"land", []Feature{{ID: "a", Name: "A", Geometry: g, LongEdges: LongEdgesShortest}}})
			for _, c := range []struct {
				lat, lon float64
				want     string
			}{
				{0, 175, "a"}, {0, -175, "a"}, {0, 180, "a"}, {0, -180, "a"}, {0, 168.749, ""}, {0, -168.749, ""},
				{0, 0, ""}, {9.999, 180, "a"}, {10.001, 180, ""}, {-20.001, -180, ""},
				{0, 168.75, "a"}, {0, -168.75, ""}, // the western border belongs, the eastern does not
			} {
				if got := ids(t, r, c.lat, c.lon); got != c.want {
					t.Errorf("at lat %v lon %v: %q, want %q", c.lat, c.lon, got, c.want)
				}
			}
			if b := r.Types()[0].Bounds; b != [4]float64{-180, -20, 180, 10} {
				t.Errorf("bounds of the type %v", b)
			}
			rec, err := r.Region(context.Background(), "land", "a", true)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				BBox     [4]float64
				Geometry struct{ Coordinates [][][][2]float64 }
			}
			if err := json.Unmarshal(rec, &got); err != nil {
				t.Fatalf("%v: %s", err, rec)
			}
			if got.BBox != [4]float64{168.75, -20, -168.75, 10} {
				t.Errorf("bbox %v", got.BBox)
			}
			if len(got.Geometry.Coordinates) != 2 {
				t.Errorf("the geometry is not cut at ±180°: %s", rec)
			}
			// Across the antimeridian the tiles know of no border.
			for _, lon := range []float64{179.99, -179.99} {
				tile, _ := quadkey.TileAt(lon, 0, 9)
				if mark := markOf(t, r, tile); mark != markLeaf {
					t.Errorf("tile %v beside the antimeridian is %c", tile, mark)
				}
			}
		})
	}
}

// markOf is the mark of the row that answers a tile, or 0.
func markOf(t *testing.T, r *Reader, tile quadkey.Tile) byte {
	t.Helper()
	var s scratch
	if err := r.seek(context.Background(), &s, tile, r.order[:1], true); err != nil {
		t.Fatal(err)
	}
	if s.rows[0].Empty() {
		return 0
	}
	return s.rows[0].Cells[0].Value[0]
}

// Land around the south pole, as a ring that winds it and as one that is cut
// and runs along −90°, and land at the north pole.
func TestPoles(t *testing.T) {
	var winding, north orb.Ring
	for lon := -180.0; lon < 180; lon += 10 {
		winding = append(winding, orb.Point{lon, -70 - 5*math.Mod(math.Abs(lon), 20)/10})
		north = append(north, orb.Point{lon, 86})
	}
	cut := append(orb.Ring{{-180, -90}}, winding...)
	cut = append(cut, orb.Point{180, winding[0][1]}, orb.Point{180, -90}, orb.Point{-180, -90})
	winding = append(winding, winding[0])
	north = append(north, north[0])
	for name, ring := range map[string]orb.Ring{"winding": winding, "cut": cut} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := buildReader(t, Layer{"land", []Feature{
				{ID: "s", Geometry: orb.Polygon{ring}},
				{ID: "n", Geometry: orb.Polygon{north}},
				{ID: "hat", Geometry: square(11.25, 84, 22.5, 89)},
			}})
			for _, c := range []struct {
				lat, lon float64
				want     string
			}{
				{-90, 0, "s"}, {-90, 180, "s"}, {-90, -77.7, "s"}, {-89, 12, "s"}, {-85.06, 180, "s"}, {-85.05, 0, "s"}, {-80, -180, "s"},
				{-69, 0, ""}, {90, 0, "n"}, {90, 180, "n"}, {86.001, -180, "n"}, {85.9, 0, ""}, {85.2, 15, "hat"}, {84.5, 15, "hat"},
				{87, 15, "hat n"}, {89.5, 15, "n"}, {85.2, 11.249, ""}, {85.2, 11.25, "hat"}, {85.2, 22.5, ""},
				{quadkey.MaxLatitude, 15, "hat"}, {math.Nextafter(quadkey.MaxLatitude, 90), 15, "hat"},
			} {
				if got := ids(t, r, c.lat, c.lon); got != c.want {
					t.Errorf("at lat %v lon %v: %q, want %q", c.lat, c.lon, got, c.want)
				}
			}
			// Nothing of the cut shows: deep in the continent there is only land.
			for _, lon := range []float64{-179.99, 179.99, 0.01} {
				tile, _ := quadkey.TileAt(lon, -84, 8)
				if mark := markOf(t, r, tile); mark != markLeaf {
					t.Errorf("tile %v inside the continent is %q", tile, mark)
				}
				edge, _ := quadkey.TileAt(lon, -85.05, 5)
				if mark := markOf(t, r, edge); mark != markLeaf {
					t.Errorf("tile %v at the world's southern edge is %q", edge, mark)
				}
			}
		})
	}
}

// A point on a shared border belongs to exactly one region, wherever it lies.
func TestSharedBorders(t *testing.T) {
	// A board of triangles: every kind of slope, and corners where six meet.
	var features []Feature
	n := 0
	for x := 0.0; x < 4; x++ {
		for y := 0.0; y < 4; y++ {
			a, b, c, d := orb.Point{x, y}, orb.Point{x + 1, y}, orb.Point{x + 1, y + 1}, orb.Point{x, y + 1}
			for _, ring := range []orb.Ring{{a, b, c}, {a, c, d}} {
				features = append(features, Feature{ID: fmt.Sprint("r", n), Geometry: orb.Polygon{ring}})
				n++
			}
		}
	}
	r, _, _ := buildReader(t, Layer{"cell", features})
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		// Multiples of 1/256° hit borders and corners often.
		lon, lat := float64(1+rnd.IntN(1022))/256, float64(1+rnd.IntN(1022))/256
		if got := ids(t, r, lat, lon); got == "" || strings.Contains(got, " ") {
			t.Fatalf("lat %v lon %v belongs to %q", lat, lon, got)
		}
	}
}

// The pieces of a region over all zoom-13 tiles are the region: their areas
// add up to the unit, and neighbours' borders are each other's twins.
func TestPiecesAddUp(t *testing.T) {
	// Two neighbours with a ragged border, one with a hole and an island.
	left := orb.Polygon{{{10, 10}, {10.21, 10.03}, {10.17, 10.2}, {10.3, 10.31}, {10.02, 10.4}}, {{10.05, 10.1}, {10.1, 10.1}, {10.1, 10.15}}}
	right := orb.Polygon{{{10.21, 10.03}, {10.5, 9.97}, {10.45, 10.35}, {10.3, 10.31}, {10.17, 10.2}}}
	island := orb.Polygon{{{10.07, 10.11}, {10.09, 10.11}, {10.09, 10.13}}}
	layer := func() Layer {
		return Layer{"land", []Feature{{ID: "left", Geometry: left}, {ID: "right", Geometry: right}, {ID: "left", Geometry: island}}}
	}
	ref := newReferences(t, layer())[0]
	for z := 6; z <= MaxZoom; z++ {
		var whole, pieces [2]int64
		var all []edge
		for i := range ref.regions {
			edges := ref.levels[i][z]
			whole[i] = area2(edges)
			ts := tileShift(z)
			b := ringBoxOf(edges)
			for x := b.x0 >> ts; x <= b.x1>>ts; x++ {
				for y := b.y0 >> ts; y <= b.y1>>ts; y++ {
					var c clipper
					tb := tileBox(z, uint32(x), uint32(y), false)
					for _, p := range c.rings.polygons(c.clip(edges, windingFromNorth(edges, point{tb.x0, tb.y0}), tb, gridShift(z))) {
						for _, ring := range p {
							pieces[i] += ringArea2(ring)
							for j, q := range ring {
								e := edge{q, ring[(j+1)%len(ring)]}
								if alongSide(e, tb) < 0 {
									all = append(all, e)
								}
							}
						}
					}
				}
			}
		}
		if whole != pieces {
			t.Errorf("zoom %d: areas of the pieces %v, of the regions %v", z, pieces, whole)
		}
		// What is left when twins cancel is the outer border: nothing of the
		// inner one, whose points lie east of the left region's western side.
		left := cancel(all)
		var outer []edge
		for i := range ref.regions {
			outer = append(outer, ref.levels[i][z]...)
		}
		outer = cancel(outer)
		for _, e := range left {
			ok := false
			for _, o := range outer {
				ok = ok || o == e
			}
			// Edges along tile lines were left out of both sides.
			if !ok {
				t.Errorf("zoom %d: border edge %v has no twin", z, e)
			}
		}
	}
}

func ringBoxOf(edges []edge) box {
	var pts []point
	for _, e := range edges {
		pts = append(pts, e.a)
	}
	return ringBox(pts)
}

// Deep zooms are cut from zoom 13 and agree with lookups.
func TestOverzoom(t *testing.T) {
	r, store, _ := buildReader(t, Layer{"land", []Feature{
		{ID: "a", Name: "A", Geometry: orb.Polygon{{{1, 1}, {2.03, 1.01}, {1.5, 2.2}}}},
		{ID: "b", Geometry: square(40, 40, 50, 50)},
	}})
	ctx := context.Background()
	all := []Selector{{Type: "land"}}
	rnd := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		z := uint8(14 + rnd.IntN(9))
		// Along the side from (1, 1) to (2.03, 1.01), and anywhere.
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
	// Deep inside: the whole square, buffered in the vector tile.
	tile, _ := quadkey.TileAt(45, 45, 20)
	got, err := r.AppendGeoJSON(ctx, nil, tile, all)
	if err != nil || strings.Count(string(got), "[4") != 5 {
		t.Errorf("inside: %s, %v", got, err)
	}
}

func TestSelectors(t *testing.T) {
	r, _, _ := buildReader(t,
		Layer{"land", []Feature{
			{ID: "a", Name: "A <b>", Geometry: square(0, 0, 10, 10), Properties: []Property{{"iso", "AA"}, {"pop", int64(5)}, {"area", 1.5}, {"ok", true}}},
			{ID: "b", Geometry: square(10, 0, 20, 10)},
		}},
		Layer{"zone", []Feature{{ID: "z", Geometry: square(0, 0, 20, 10)}}})
	ctx := context.Background()
	tile := quadkey.Tile{Z: 4, X: 8, Y: 7}
	for _, c := range []struct {
		sel    []Selector
		want   string
		vector string
	}{
		{[]Selector{{"land", ""}}, "land:a land:b", "land:a land:b land_line:|a land_line:b|a land_line:|b land_label:a land_label:b"},
		{[]Selector{{"zone", ""}, {"land", ""}, {"zone", ""}}, "land:a land:b zone:z", "land:a land:b land_line:|a land_line:b|a land_line:|b land_label:a land_label:b zone:z zone_line:|z zone_label:z"},
		{[]Selector{{"land", "b"}}, "land:b", "land:b land_line:b|a land_line:|b land_label:b"},
		{[]Selector{{"land", "b"}, {"land", ""}}, "land:a land:b", "land:a land:b land_line:|a land_line:b|a land_line:|b land_label:a land_label:b"},
		{[]Selector{{"land", "nowhere"}}, "", ""},
		{[]Selector{{"land", "a"}, {"zone", "z"}}, "land:a zone:z", "land:a land_line:|a land_line:b|a land_label:a zone:z zone_line:|z zone_label:z"},
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
	if _, err := r.AppendMVT(ctx, nil, tile, []Selector{{"sea", ""}}); !errors.Is(err, ErrUnknownType) {
		t.Errorf("unknown type: %v", err)
	}
	if _, err := r.At(ctx, 0, 0, "sea"); !errors.Is(err, ErrUnknownType) {
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
	if _, err := r.Region(ctx, "land", "x", false); !errors.Is(err, ErrNotFound) {
		t.Errorf("no region: %v", err)
	}
	rec, err := r.Region(ctx, "land", "a", false)
	const want = `{"type":"land","id":"a","name":"A \u003cb\u003e","bbox":[0,0,10,10],"iso":"AA","pop":5,"area":1.5,"ok":true}`
	if err != nil || string(rec) != want {
		t.Errorf("record %s, %v", rec, err)
	}
}

func TestBuildRefuses(t *testing.T) {
	good := square(0, 0, 1, 1)
	for name, c := range map[string]struct {
		layers []Layer
		want   error
	}{
		"no layers":   {nil, ErrBadLayer},
		"no features": {[]Layer{{Type: "land"}}, ErrBadLayer},
		"bad type":    {[]Layer{{"Land", []Feature{{ID: "a", Geometry: good}}}}, ErrBadLayer},
		"bad id":      {[]Layer{{"land", []Feature{{ID: "A b", Geometry: good}}}}, ErrBadLayer},
		"type twice":  {[]Layer{{"land", []Feature{{ID: "a", Geometry: good}}}, {"land", []Feature{{ID: "a", Geometry: good}}}}, ErrBadLayer},
		"no geometry": {[]Layer{{"land", []Feature{{ID: "a"}}}}, ErrBadGeometry},
		"a line":      {[]Layer{{"land", []Feature{{ID: "a", Geometry: orb.LineString{{0, 0}, {1, 1}}}}}}, ErrBadGeometry},
		"not a number": {[]Layer{{"land", []Feature{{ID: "a", Geometry: orb.Polygon{{{0, 0}, {math.NaN(), 1}, {1, 1}}}}}}},
			ErrBadGeometry},
		"metres":       {[]Layer{{"land", []Feature{{ID: "a", Geometry: square(0, 0, 500000, 1000)}}}}, ErrBadGeometry},
		"odd property": {[]Layer{{"land", []Feature{{ID: "a", Geometry: good, Properties: []Property{{"x", []int{1}}}}}}}, ErrBadLayer},
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			_, _, err := Build(context.Background(), store, c.layers, BuildOptions{})
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if tables, _ := store.Tables(context.Background()); len(tables) != 0 {
				t.Errorf("tables were made: %v", tables)
			}
		})
	}
}

// The same input gives the same rows, whatever the number of workers.
func TestDeterminism(t *testing.T) {
	dump := func(workers int) []string {
		rnd := rand.New(rand.NewPCG(11, 12))
		var features []Feature
		for i := range 20 {
			lon, lat := rnd.Float64()*300-150, rnd.Float64()*120-60
			var ring orb.Ring
			for a := 0.0; a < 2*math.Pi; a += 0.1 {
				d := 0.5 + 0.5*rnd.Float64()
				ring = append(ring, orb.Point{lon + d*math.Cos(a), lat + d*math.Sin(a)})
			}
			features = append(features, Feature{ID: fmt.Sprint("r", i), Geometry: orb.Polygon{ring}})
		}
		all := randomFigures(rnd, 3)
		for i, name := range sortedKeys(all) {
			features = append(features, all[name].features(fmt.Sprint("f", i), float64(i), 70, 0.01, i%2 == 0)...)
		}
		store := openStore(t)
		if _, _, err := Build(context.Background(), store, []Layer{{"land", features}}, BuildOptions{Workers: workers}); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, name := range []string{TableBounds, TableRegions} {
			table, err := store.Table(context.Background(), name)
			if err != nil {
				t.Fatal(err)
			}
			for row, err := range table.Scan(context.Background(), cellstore.Scan{}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range row.Cells {
					rows = append(rows, fmt.Sprintf("%x %s %s %x", row.Key, c.Family, c.Qualifier, c.Value))
				}
			}
		}
		return rows
	}
	one, four := dump(1), dump(4)
	if len(one) != len(four) {
		t.Fatalf("%d rows and %d", len(one), len(four))
	}
	for i := range one {
		if one[i] != four[i] {
			t.Fatalf("row %d differs:\n%s\n%s", i, one[i], four[i])
		}
	}
}
