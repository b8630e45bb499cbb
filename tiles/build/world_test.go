package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cellstore"
	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

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

// TestAntimeridian builds the same land in the three notations of sources: cut at ±180°, stitched
// across it with a jump, and stitched with longitudes beyond 180.
func TestAntimeridian(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	for name, g := range map[string]orb.Geometry{
		"cut":      orb.MultiPolygon{tilestest.Square(168.75, -20, 180, 10), tilestest.Square(-180, -20, -168.75, 10)},
		"stitched": orb.Polygon{{{168.75, -20}, {-168.75, -20}, {-168.75, 10}, {168.75, 10}, {168.75, -20}}},
		"beyond":   orb.Polygon{{{168.75, -20}, {191.25, -20}, {191.25, 10}, {168.75, 10}, {168.75, -20}}},
		"unclosed": orb.Polygon{{{168.75, -20}, {-168.75, -20}, {-168.75, 10}, {168.75, 10}}},
		"turned":   orb.Polygon{{{168.75, -20}, {168.75, 10}, {-168.75, 10}, {-168.75, -20}, {168.75, -20}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, store, _ := buildReader(t, Layer{"land", []Feature{{ID: "a", Name: "A", Geometry: g, LongEdges: LongEdgesShortest}}})
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
			// The tiles have no border along the antimeridian.
			for _, lon := range []float64{179.99, -179.99} {
				tile, _ := quadkey.TileAt(lon, 0, 9)
				if mark := markOf(t, store, tile); mark != layout.MarkLeaf {
					t.Errorf("tile %v beside the antimeridian is %c", tile, mark)
				}
			}
		})
	}
}

// markOf returns the mark of the row that answers a tile of a layer "land", or 0.
func markOf(t *testing.T, store cellstore.Store, tile quadkey.Tile) byte {
	t.Helper()
	table, err := store.Table(context.Background(), layout.TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	key, rows := tile.Key(), make([]cellstore.Row, 1)
	if err := table.NextEach(context.Background(), key[:], nil, []string{"land" + layout.FamilyMVT}, rows); err != nil {
		t.Fatal(err)
	}
	above, ok := layout.RowTile(rows[0].Key)
	if rows[0].Empty() || !ok {
		return 0
	}
	if mark := rows[0].Cells[0].Value[0]; above == tile || mark == layout.MarkLeaf && above.Contains(tile) {
		return mark
	}
	return 0
}

// TestPoles tests land around the south pole, both as a ring around the pole and as a cut ring
// along −90°. It also tests land at the north pole.
func TestPoles(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	t.Parallel() // it takes long, and one build does not keep two processors busy
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
			r, store, _ := buildReader(t, Layer{"land", []Feature{
				{ID: "s", Geometry: orb.Polygon{ring}},
				{ID: "n", Geometry: orb.Polygon{north}},
				{ID: "hat", Geometry: tilestest.Square(11.25, 84, 22.5, 89)},
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
			// The cut leaves no trace: deep in the continent there is only land.
			for _, lon := range []float64{-179.99, 179.99, 0.01} {
				tile, _ := quadkey.TileAt(lon, -84, 8)
				if mark := markOf(t, store, tile); mark != layout.MarkLeaf {
					t.Errorf("tile %v inside the continent is %q", tile, mark)
				}
				edge, _ := quadkey.TileAt(lon, -85.05, 5)
				if mark := markOf(t, store, edge); mark != layout.MarkLeaf {
					t.Errorf("tile %v at the world's southern edge is %q", edge, mark)
				}
			}
		})
	}
}

// A point on a shared border belongs to exactly one region, on every border.
func TestSharedBorders(t *testing.T) {
	// The regions form a board of triangles, with every kind of slope, and with corners at which
	// six of them meet.
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

// The pieces of a region in all zoom-13 tiles add up to the region: their areas are equal to the
// unit, and each edge of an inner border has a twin in the neighbour.
func TestPiecesAddUp(t *testing.T) {
	// Two neighbours with a ragged border, one with a hole and an island.
	left := orb.Polygon{{{10, 10}, {10.21, 10.03}, {10.17, 10.2}, {10.3, 10.31}, {10.02, 10.4}}, {{10.05, 10.1}, {10.1, 10.1}, {10.1, 10.15}}}
	right := orb.Polygon{{{10.21, 10.03}, {10.5, 9.97}, {10.45, 10.35}, {10.3, 10.31}, {10.17, 10.2}}}
	island := orb.Polygon{{{10.07, 10.11}, {10.09, 10.11}, {10.09, 10.13}}}
	layer := func() Layer {
		return Layer{"land", []Feature{{ID: "left", Geometry: left}, {ID: "right", Geometry: right}, {ID: "left", Geometry: island}}}
	}
	ref := newReferences(t, layer())[0]
	for z := 6; z <= grid.MaxZoom; z++ {
		var whole, pieces [2]int64
		var all []grid.Edge
		for i := range ref.regions {
			edges := ref.levels[i][z]
			whole[i] = grid.Area2(edges)
			ts := grid.TileShift(z)
			b := ringBoxOf(edges)
			for x := b.X0 >> ts; x <= b.X1>>ts; x++ {
				for y := b.Y0 >> ts; y <= b.Y1>>ts; y++ {
					var c grid.Clipper
					tb := grid.TileBox(z, uint32(x), uint32(y), false)
					for _, p := range c.Polygons(edges, grid.WindingFromNorth(edges, tb.Corner()), tb, grid.StepShift(z)) {
						for _, ring := range p {
							pieces[i] += grid.RingArea2(ring)
							for j, q := range ring {
								e := grid.Edge{A: q, B: ring[(j+1)%len(ring)]}
								if !grid.AlongSide(e, tb) {
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
		// When twins cancel, the outer border is left and nothing of the inner one. The inner one's
		// points lie east of the left region's western side.
		left := grid.CancelEdges(all)
		var outer []grid.Edge
		for i := range ref.regions {
			outer = append(outer, ref.levels[i][z]...)
		}
		outer = grid.CancelEdges(outer)
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

func ringBoxOf(edges []grid.Edge) grid.Box {
	var pts []grid.Point
	for _, e := range edges {
		pts = append(pts, e.A)
	}
	return grid.RingBox(pts)
}

func TestBuildRefuses(t *testing.T) {
	good := tilestest.Square(0, 0, 1, 1)
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
		"a point":     {[]Layer{{"land", []Feature{{ID: "a", Geometry: orb.Point{0, 0}}}}}, ErrBadGeometry},
		"not a number": {[]Layer{{"land", []Feature{{ID: "a", Geometry: orb.Polygon{{{0, 0}, {math.NaN(), 1}, {1, 1}}}}}}},
			ErrBadGeometry},
		"metres":       {[]Layer{{"land", []Feature{{ID: "a", Geometry: tilestest.Square(0, 0, 500000, 1000)}}}}, ErrBadGeometry},
		"odd property": {[]Layer{{"land", []Feature{{ID: "a", Geometry: good, Properties: []Property{{"x", []int{1}}}}}}}, ErrBadLayer},
	} {
		t.Run(name, func(t *testing.T) {
			store := tilestest.OpenStore(t)
			_, _, err := Run(context.Background(), store, c.layers, Options{})
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if tables, _ := store.Tables(context.Background()); len(tables) != 0 {
				t.Errorf("tables were made: %v", tables)
			}
		})
	}
}

// The same input gives the same rows with any number of workers, also with a budget that merges
// regions.
func TestDeterminism(t *testing.T) {
	t.Parallel() // it takes long, and one build does not keep two processors busy
	dump := func(workers int, budget int64) []string {
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
		for i, name := range slices.Sorted(maps.Keys(all)) {
			features = append(features, featuresOf(all[name], fmt.Sprint("f", i), float64(i), 70, 0.01, i%2 == 0)...)
		}
		store := tilestest.OpenStore(t)
		if _, _, err := Run(context.Background(), store, []Layer{{"land", features}}, Options{Workers: workers, TileBudget: budget}); err != nil {
			t.Fatal(err)
		}
		return append(cellsOf(t, store, layout.TableBounds), cellsOf(t, store, layout.TableRegions)...)
	}
	var plain []string
	for _, budget := range []int64{0, 1000} {
		one, four := dump(1, budget), dump(4, budget)
		if len(one) != len(four) {
			t.Fatalf("budget %d: %d rows and %d", budget, len(one), len(four))
		}
		for i := range one {
			if one[i] != four[i] {
				t.Fatalf("budget %d: row %d differs:\n%s\n%s", budget, i, one[i], four[i])
			}
		}
		if budget == 0 {
			plain = one
		} else if slices.Equal(one, plain) {
			t.Errorf("a budget of %d changes nothing", budget)
		}
	}
}
