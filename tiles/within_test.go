//go:build !race

package tiles_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"

	"quadrille/feature"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// plane returns a shape in grid units for package simplefeatures.
func plane(t testing.TB, polys []grid.Polygon) geom.Geometry {
	t.Helper()
	var mp []geom.Polygon
	for _, p := range polys {
		var rings []geom.LineString
		for _, r := range p {
			var c []float64
			for _, q := range append(slices.Clone(r), r[0]) {
				c = append(c, float64(q.X), float64(q.Y))
			}
			rings = append(rings, geom.NewLineString(geom.NewSequence(c, geom.DimXY)))
		}
		mp = append(mp, geom.NewPolygon(rings))
	}
	return geom.NewMultiPolygon(mp).AsGeometry()
}

func planeBox(x0, y0, x1, y1 float64) geom.Geometry {
	c := []float64{x0, y0, x1, y0, x1, y1, x0, y1, x0, y0}
	switch {
	case x0 == x1 && y0 == y1:
		return geom.NewPointXY(x0, y0).AsGeometry()
	case x0 == x1 || y0 == y1:
		return geom.NewLineString(geom.NewSequence([]float64{x0, y0, x1, y1}, geom.DimXY)).AsGeometry()
	}
	return geom.NewPolygon([]geom.LineString{geom.NewLineString(geom.NewSequence(c, geom.DimXY))}).AsGeometry()
}

// planes are the regions of a world in Mercator and in the polar caps.
type planes struct {
	ref   *storedWorld
	tiles []geom.Geometry
	caps  [][2]geom.Geometry
}

func newPlanes(t testing.TB, ref *storedWorld) *planes {
	t.Helper()
	p := &planes{ref: ref}
	const far = 1 << 27
	everywhere := grid.Box{X0: -far, Y0: -far, X1: far, Y1: far}
	for i := range ref.ids {
		var c grid.Clipper
		p.tiles = append(p.tiles, plane(t, c.Polygons(ref.edges[i], 0, everywhere, 0)))
		var caps [2]geom.Geometry
		for k := range caps {
			caps[k] = plane(t, c.Polygons(ref.caps[i][k], 0, everywhere, 0))
		}
		p.caps = append(p.caps, caps)
	}
	return p
}

// pieces returns the parts of a box on the plane of the tiles.
func pieces(b quadkey.Box) [][4]float64 {
	if b.South > quadkey.MaxLatitude || b.North < -quadkey.MaxLatitude {
		return nil
	}
	y0, y1 := layout.MercatorY(min(b.North, quadkey.MaxLatitude)), layout.MercatorY(max(b.South, -quadkey.MaxLatitude))
	w, e := layout.GridX(b.West), layout.GridX(b.East)
	if b.West > b.East {
		return [][4]float64{{w, y0, grid.WorldSize, y1}, {0, y0, e, y1}}
	}
	out := [][4]float64{{w, y0, e, y1}}
	if b.West == -180 {
		out = append(out, [4]float64{grid.WorldSize, y0, grid.WorldSize, y1})
	}
	if b.East == 180 {
		out = append(out, [4]float64{0, y0, 0, y1})
	}
	return out
}

// meeting returns the regions that intersect a box.
func (p *planes) meeting(b quadkey.Box) []string {
	var ids []string
	for i, id := range p.ref.ids {
		meets := false
		for _, q := range pieces(b) {
			meets = meets || geom.Intersects(p.tiles[i], planeBox(q[0], q[1], q[2], q[3]))
		}
		lons := [][2]float64{{layout.GridX(b.West), layout.GridX(b.East)}}
		if b.West > b.East {
			lons = [][2]float64{{layout.GridX(b.West), grid.WorldSize}, {0, layout.GridX(b.East)}}
		}
		for _, l := range lons {
			if b.North > quadkey.MaxLatitude {
				meets = meets || geom.Intersects(p.caps[i][0],
					planeBox(l[0], layout.PlateCarreeY(b.North), l[1], layout.PlateCarreeY(max(b.South, quadkey.MaxLatitude))))
			}
			if b.South < -quadkey.MaxLatitude {
				meets = meets || geom.Intersects(p.caps[i][1],
					planeBox(l[0], layout.PlateCarreeY(min(b.North, -quadkey.MaxLatitude)), l[1], layout.PlateCarreeY(b.South)))
			}
		}
		if meets {
			ids = append(ids, id)
		}
	}
	return ids
}

// withinIDs lists the regions of a type that meet a box, page by page.
func withinIDs(t testing.TB, l feature.Layer, b quadkey.Box, limit int) (ids []string, pages int) {
	t.Helper()
	q := feature.Query{In: feature.Box(b), Detail: feature.WithoutGeometry}
	for {
		next, err := feature.Page(t.Context(), l, q, limit, func(f *feature.Feature) error {
			ids = append(ids, f.ID)
			return nil
		})
		if err == nil {
			err = q.Continue(l.Info(), next)
		}
		if err != nil {
			t.Fatalf("%v: %v", b, err)
		}
		if pages++; next == "" {
			return ids, pages
		}
	}
}

// inBox returns the regions of all types that intersect a box.
func inBox(t testing.TB, r *tiles.Reader, b quadkey.Box) (ids []string) {
	t.Helper()
	for _, typ := range r.Types() {
		of, _ := withinIDs(t, layerOf(t, r, typ.Name), b, 1000)
		ids = append(ids, of...)
	}
	return ids
}

// randomBox returns a box near a border. Its size is a few metres, some tiles, or half a world.
func randomBox(rnd *rand.Rand, ref *storedWorld) quadkey.Box {
	lon, lat := rnd.Float64()*360-180, rnd.Float64()*180-90
	if rnd.IntN(5) > 0 {
		lon, lat = ref.vertex(rnd)
	}
	size := math.Pow(10, rnd.Float64()*6.5-4) // 1e-4° to 300°
	clamp := func(v, limit float64) float64 { return max(-limit, min(limit, v)) }
	b := quadkey.Box{
		West: lon - size*rnd.Float64(), East: lon + size*rnd.Float64(),
		South: clamp(lat-size*rnd.Float64()/2, 90), North: clamp(lat+size*rnd.Float64()/2, 90),
	}
	if b.East-b.West >= 360 {
		b.West, b.East = -180, 180
	} else {
		b.West, b.East = math.Remainder(b.West, 360), math.Remainder(b.East, 360)
	}
	return b
}

func testWithin(t *testing.T, r *tiles.Reader, ref *storedWorld, n int) {
	p, l := newPlanes(t, ref), layerOf(t, r, r.Types()[0].Name)
	rnd := rand.New(rand.NewPCG(31, 32))
	some := 0
	for range n {
		b := randomBox(rnd, ref)
		want := p.meeting(b)
		got, pages := withinIDs(t, l, b, 1+rnd.IntN(5))
		if !slices.Equal(got, want) {
			t.Errorf("box %v: %v on %d pages, want %v", b, got, pages, want)
		}
		if len(want) > 0 && len(want) < len(ref.ids) {
			some++
		}
	}
	if some < n/4 {
		t.Errorf("only %d of %d boxes meet some regions", some, n)
	}
}

func TestWithin(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	testWithin(t, r, newStoredWorld(t, store, "land"), 1500)
}

// TestLookupsNaturalEarth tests real borders, with an enclave, islands and land at ±180°.
func TestLookupsNaturalEarth(t *testing.T) {
	r, store, _ := buildReader(t, naturalEarth(t, "country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME",
		"ITA", "HRV", "BIH", "SVN", "AUT", "MNE", "FJI", "LSO", "ZAF"))
	ref := newStoredWorld(t, store, "country")
	t.Run("nearest", func(t *testing.T) { testNearest(t, r, ref, 80) })
	t.Run("within", func(t *testing.T) { testWithin(t, r, ref, 300) })
	t.Run("cutout", func(t *testing.T) { testCutout(t, r, ref, 400) })
}

// TestWithinEdges tests edges of the world, of boxes and of regions.
func TestWithinEdges(t *testing.T) {
	// Multiples of 360°/256 are exact in all representations.
	const u = 1.40625
	r, _, _ := buildReader(t, build.Layer{Type: "land", Features: []build.Feature{
		{ID: "a", Name: "A", Geometry: tilestest.Square(u, u, 3*u, 3*u)},
		{ID: "b", Geometry: tilestest.Square(3*u, u, 5*u, 3*u)},
		{ID: "dot", Geometry: tilestest.Square(40, 40, 40.00005, 40.00005)},
		{ID: "line", Geometry: tilestest.Square(178, -10, 182, -9)},
		{ID: "north", Geometry: tilestest.Square(0, 90-3*u, 14*u, 90)},
		{ID: "seam", Geometry: tilestest.Square(170, 30, 180, 31)},
		{ID: "south", Geometry: orb.Polygon{{{-180, -90}, {180, -90}, {180, -80}, {60, -80}, {-60, -80}, {-180, -80}}}},
	}}, build.Layer{Type: "zone", Features: []build.Feature{{ID: "z", Geometry: tilestest.Square(0, 0, 42*u, 60)}}})
	for _, c := range []struct{ box, want string }{
		{"-180,-90,180,90", "a b dot line north seam south z"},
		{"1.40625,0,1.40625,80", "a z"},                     // a line along an edge
		{"1.40625,1.41,1.40625,1.41", "a z"},                // a point on it
		{"4.21875,2.5,4.21875,2.5", "a b z"},                // both neighbours of a point on their border
		{"0,0,1.40625,80", "a z"},                           // touching
		{"0,0,1.4062499,80", "z"},                           // not quite
		{"2,2,2,2", "a z"},                                  // inside
		{"2,2,2.01,2.01", "a z"},                            //
		{"59.0625,-5,61,0", "z"},                            // corner to corner
		{"59.0625,-5,61,-0.00001", ""},                      //
		{"39,39,41,41", "dot z"},                            //
		{"30,30,50,50", "dot z"},                            // far from the edge of the box
		{"-180,-10,-180,-9", "line"},                        // the antimeridian from the west
		{"180,-10,180,-9", "line"},                          // and from the east
		{"180,-10,-180,-9", "line"},                         //
		{"179,-20,-179,20", "line"},                         //
		{"-177.9,-20,177.9,-5", ""},                         // the long way round
		{"-180,30,-179,31", "seam"},                         // touches at ±180°
		{"-180,30.5,-180,30.5", "seam"},                     //
		{"-50,90,-40,90", "north"},                          // at the pole every longitude is the same point
		{"-50,88,-40,90", "north"},                          //
		{"-50,88,-40,89.99", ""},                            //
		{"19.6875,85.1,30,88", "north"},                     //
		{"19.6875,85.1,30,85.78125", "north"},               // a corner in the cap
		{"19.6875,85.78125,19.6875,85.8", "north"},          //
		{"19.6875,85.1,30,85.7812", ""},                     //
		{"19.6876,85.1,30,88", ""},                          //
		{"-100,-90,-100,-90", "south"},                      //
		{"50,-85.2,60,-85.0511", "south"},                   //
		{"-180,-79.99,180,-60", ""},                         //
		{"-20,-5,-10,5", ""},                                //
		{"-180,-80.0001,180,-60", "south"},                  //
		{"170,-15,-170,31", "line seam"},                    //
		{"-180,-90,180,-85.06", "south"},                    // beyond the tiles
		{"100,-20,-100,20", "line"},                         // wide, across ±180°
		{"-100,-20,100,20", "a b z"},                        //
		{"-180,85.0511287798066,180,85.0511287798066", ""},  // the limit of the tiles
		{"-180,-85.0511287798066,180,-85.0511287", "south"}, //
		{"4.21875,4.2187,4.21875,4.2187", "a b z"},          // where three meet
		{"4.2187501,4.2187,10,10", "b z"},                   //
		{"1.40625,4.2188,10,10", "z"},                       //
	} {
		b, err := quadkey.ParseBox(c.box)
		if err != nil {
			t.Fatal(err)
		}
		if g := strings.Join(inBox(t, r, b), " "); g != c.want {
			t.Errorf("box %s: %q, want %q", c.box, g, c.want)
		}
	}
	if got, pages := withinIDs(t, layerOf(t, r, "zone"), quadkey.World, 1); len(got) != 1 || pages != 1 {
		t.Errorf("%v on %d pages", got, pages)
	}
}

// TestWithinAgreesWithAt tests that a search in a box that is a single point finds the regions that
// At finds at this point.
func TestWithinAgreesWithAt(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	ref := newStoredWorld(t, store, "land")
	rnd := rand.New(rand.NewPCG(33, 34))
	for range 3000 {
		b := randomBox(rnd, ref)
		b.East, b.North = b.West, b.South
		got := inBox(t, r, b)
		if at := strings.Fields(ids(t, r, b.South, b.West)); !slices.Equal(got, at) {
			t.Fatalf("at %v: %v, within: %v", b, at, got)
		}
	}
}

// FuzzBoxes queries any box. Either the box is refused, or the answer has at least the regions at
// the box's corners, and geometry that is valid JSON.
func FuzzBoxes(f *testing.F) {
	l := toyLayer()
	l.Features = slices.DeleteFunc(l.Features, func(f build.Feature) bool { return f.ID == "big" })
	r, _, _ := buildReader(f, l)
	land := layerOf(f, r, "land")
	for _, b := range []quadkey.Box{
		quadkey.World, {West: 180, East: -180}, {West: 10.2, South: 10, East: 10.25, North: 10.3}, {West: 60, South: 84, East: 61, North: 90},
		{West: 179.7, South: -17, East: -179.6, North: -16.4}, {South: math.NaN()}, {West: math.Inf(1)}, {North: 90, South: 90},
		{West: -180, South: quadkey.MaxLatitude, East: -180, North: quadkey.MaxLatitude}, {West: 20, South: -90, East: 19, North: -85.0511},
	} {
		f.Add(b.West, b.South, b.East, b.North)
	}
	f.Fuzz(func(t *testing.T, west, south, east, north float64) {
		ctx := context.Background()
		b := quadkey.Box{West: west, South: south, East: east, North: north}
		var found []string
		for f, err := range land.Features(ctx, &feature.Query{In: feature.Box(b), Detail: feature.WithoutGeometry}) {
			if err != nil {
				if b.Valid() || !errors.Is(err, quadkey.ErrBox) {
					t.Fatalf("%v: %v", b, err)
				}
				return
			}
			found = append(found, f.ID)
			if in := tiles.ClipBounds(b, f.Bounds); !in.Valid() {
				t.Fatalf("%v: %s is there in %v", b, f.ID, in)
			}
		}
		if !b.Valid() {
			t.Fatalf("%v is answered", b)
		}
		for _, corner := range [4][2]float64{{west, south}, {west, north}, {east, south}, {east, north}} {
			at, err := r.At(ctx, corner[1], corner[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, reg := range at {
				if !slices.Contains(found, reg.ID) {
					t.Fatalf("%v: no %s, which is at %v", b, reg.ID, corner)
				}
			}
			if _, err := r.Nearest(ctx, corner[1], corner[0], 5000); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range found {
			out, _, err := r.AppendCutout(ctx, nil, "land", id, b)
			if err != nil || len(out) > 0 && !json.Valid(out) {
				t.Fatalf("%v %s: %v %s", b, id, err, out)
			}
		}
	})
}
