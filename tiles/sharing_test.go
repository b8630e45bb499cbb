//go:build !race

package tiles_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"

	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/must"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/shape"
)

// squareUnits returns the area that two shapes have in common.
func squareUnits(t testing.TB, a, b geom.Geometry) float64 {
	t.Helper()
	if !a.Envelope().Intersects(b.Envelope()) {
		return 0
	}
	both, err := geom.Intersection(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return both.Area()
}

// compareShares compares the answer for the ground of each region with the intersections of the
// planes. Where borders of two data sets cross a tile line, each is rounded separately. So the
// answer may be either if the common ground has at most the given number of square units.
func compareShares(t *testing.T, grounds *tiles.Reader, of *planes, l feature.Layer, p *planes, most float64) {
	t.Helper()
	compareGrounds(t, func(id string) feature.Area { return grounds.QueryArea(of.ref.typ, id) }, of, l, p, most)
}

// compareGrounds does the same as compareShares, for other areas with the same ground.
func compareGrounds(t *testing.T, ground func(id string) feature.Area, of *planes, l feature.Layer, p *planes, most float64) {
	t.Helper()
	shared, apart := 0, 0
	for i, id := range of.ref.ids {
		got := strings.Fields(listed(t, l, feature.Query{In: ground(id), Detail: feature.WithoutGeometry}))
		for k, other := range p.ref.ids {
			common := squareUnits(t, of.tiles[i], p.tiles[k])
			for c := range of.caps[i] {
				common += squareUnits(t, of.caps[i][c], p.caps[k][c])
			}
			there := slices.Contains(got, other)
			switch {
			case common > 0 && common <= most:
			case there != (common > 0):
				t.Errorf("%s in %s: %v, with %v square units in common", other, id, there, common)
			case there:
				shared++
			default:
				apart++
			}
		}
		if in := slices.IsSortedFunc(got, feature.CompareRegionIDs); !in {
			t.Errorf("%s: %v is not in the order of ids", id, got)
		}
	}
	if shared == 0 || apart == 0 {
		t.Errorf("%d pairs share ground and %d do not", shared, apart)
	}
	t.Logf("%d pairs share ground, %d do not", shared, apart)
}

// Regions of one data set share their borders, within one type and between two.
func TestSharesGround(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer(), blobs("ward", 1, 10.2, 10.2, 0.5, 12), blobs("zone", 2, 25, 78, 40, 6))
	of := map[string]*planes{}
	for _, typ := range []string{"land", "ward", "zone"} {
		of[typ] = newPlanes(t, newStoredWorld(t, store, typ))
	}
	for a, grounds := range of {
		for b, regions := range of {
			if a+b != "wardzone" && a+b != "zoneward" { // far from each other
				t.Run(a+" and "+b, func(t *testing.T) { compareShares(t, r, grounds, layerOf(t, r, b), regions, 100) })
			}
		}
	}
}

// TestSharesGroundOfAnotherDataSet searches in areas that are regions of another data set, with the
// two data sets joined and separate.
func TestSharesGroundOfAnotherDataSet(t *testing.T) {
	for seed := range uint64(3) {
		a, storeA, _ := buildReader(t, blobs("district", 2*seed, 10, 50+seed2lat(seed), 1, 9))
		b, storeB, _ := buildReader(t, blobs("ward", 2*seed+1, 10, 50+seed2lat(seed), 1, 9))
		district, ward := newPlanes(t, newStoredWorld(t, storeA, "district")), newPlanes(t, newStoredWorld(t, storeB, "ward"))
		both := tiles.Join(a, b)
		compareShares(t, a, district, layerOf(t, b, "ward"), ward, 5000)
		compareShares(t, both, ward, layerOf(t, both, "district"), district, 5000)
	}
}

// TestSharesGroundOfDrawnAreas searches in the polygons of regions of another data set. Their borders are rounded to degrees,
// and then to the grid once more.
func TestSharesGroundOfDrawnAreas(t *testing.T) {
	for seed := range uint64(3) {
		a, storeA, _ := buildReader(t, blobs("district", 2*seed, 10, 50+seed2lat(seed), 1, 9))
		b, storeB, _ := buildReader(t, blobs("ward", 2*seed+1, 10, 50+seed2lat(seed), 1, 9))
		district, ward := newPlanes(t, newStoredWorld(t, storeA, "district")), newPlanes(t, newStoredWorld(t, storeB, "ward"))
		drawn := func(id string) feature.Area {
			var f feature.Feature
			must.Do(t, layerOf(t, a, "district").Get(context.Background(), id, time.Time{}, &f))
			area := must.Get(shape.New(must.Get(f.Orb()).In(t), 0)).In(t)
			must.Do(t, area.CheckBorder())
			return area
		}
		compareGrounds(t, drawn, district, layerOf(t, b, "ward"), ward, 10_000)
	}
}

func seed2lat(seed uint64) float64 { return []float64{0, 34.9, -135}[seed] }

// With real borders, neighbours only touch, and only an enclave lies in the region around it.
func TestSharesGroundNaturalEarth(t *testing.T) {
	r, store, _ := buildReader(t, naturalEarth(t, "country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME",
		"ITA", "HRV", "BIH", "SVN", "AUT", "CHE", "DEU", "FRA", "MNE", "FJI", "LSO", "ZAF"))
	ref := newStoredWorld(t, store, "country")
	l := layerOf(t, r, "country")
	for _, id := range ref.ids {
		if got := listed(t, l, feature.Query{In: r.QueryArea("country", id)}); got != id {
			t.Errorf("in %s: %s", id, got)
		}
	}
}

// sharingLayers returns layers of regions with exact coordinates on every grid: multiples of u,
// north of the equator.
func sharingLayers() []build.Layer {
	const u = 360.0 / 256
	square := func(x0, y0, x1, y1 float64) orb.Polygon { return tilestest.Square(x0*u, y0*u, x1*u, y1*u) }
	ring := square(10, 10, 14, 14)
	ring = append(ring, square(11, 11, 13, 13)[0])
	slices.Reverse(ring[1])
	return []build.Layer{
		{Type: "land", Features: []build.Feature{
			{ID: "a", Geometry: square(1, 1, 3, 3)},
			{ID: "b", Geometry: square(3, 1, 5, 3)},
			{ID: "corner", Geometry: square(5, 3, 7, 5)},
			{ID: "dot", Geometry: tilestest.Square(2*u+0.1, 2*u+0.1, 2*u+0.1000001, 2*u+0.1000001)},
			{ID: "enclave", Geometry: square(11, 11, 13, 13)},
			{ID: "isles", Geometry: orb.MultiPolygon{square(1.5, 1.5, 1.6, 1.6), square(30, 1.5, 30.1, 1.6)}},
			{ID: "north", Geometry: tilestest.Square(0, 80, 20, 90)},
			{ID: "ring", Geometry: ring},
			{ID: "seam", Geometry: tilestest.Square(179, -10, 181, -9)},
			{ID: "south", Geometry: tilestest.Square(0, -90, 20, -89)},
			{ID: "twin", Geometry: square(1, 1, 3, 3)},
		}},
		{Type: "line", Features: []build.Feature{
			{ID: "border", Geometry: orb.LineString{{3 * u, 1.1 * u}, {3 * u, 2.9 * u}}},
			{ID: "date", Geometry: orb.LineString{{180, -9.9}, {180, -9.1}}},
			{ID: "edge", Geometry: orb.LineString{{1 * u, 0}, {1 * u, 1 * u}}},
			{ID: "equator", Geometry: orb.LineString{{-170, 0}, {0, 0}, {170, 0}}},
			{ID: "hole", Geometry: orb.LineString{{12 * u, 12 * u}, {12.1 * u, 12.2 * u}}},
			{ID: "through", Geometry: orb.LineString{{0, 2 * u}, {6 * u, 2 * u}}},
		}},
	}
}

func TestShares(t *testing.T) {
	const u = 360.0 / 256
	r, _, _ := buildReader(t, sharingLayers()...)
	other, _, _ := buildReader(t, build.Layer{Type: "zone", Features: []build.Feature{
		{ID: "a", Geometry: tilestest.Square(u, u, 3*u, 3*u)},
		{ID: "beside", Geometry: tilestest.Square(0, 0, u, 9*u)},
		{ID: "cap", Geometry: tilestest.Square(10, 86, 11, 87)},
		{ID: "day", Geometry: tilestest.Square(180, -20, 190, 0)},
		{ID: "equator", Geometry: tilestest.Square(100, -5, 110, 5)},
		{ID: "farcap", Geometry: tilestest.Square(30, 86, 31, 87)},
		{ID: "hole", Geometry: tilestest.Square(11*u, 11*u, 13*u, 13*u)},
		{ID: "over", Geometry: tilestest.Square(1.2*u, 1.3*u, 4.2*u, 2.3*u)},
		{ID: "pole", Geometry: tilestest.Square(-180, -90, 180, -85.5)},
		{ID: "sliver", Geometry: tilestest.Square(3*u-0.00002, 0, 3*u, 9*u)},
		{ID: "strip", Geometry: tilestest.Square(3*u, 1.2*u, 3*u+0.001, 1.2*u+0.001)},
	}})
	drawn := func(w, south, e, n float64) feature.Area {
		return must.Get(shape.New(orb.Polygon{{{w, south}, {e, south}, {e, n}, {w, n}, {w, south}}}, 0)).In(t)
	}
	tile := func(z, x, y int) feature.Area {
		of, err := quadkey.NewTile(z, x, y)
		if err != nil {
			t.Fatal(err)
		}
		return feature.Tile(of)
	}
	at := func(lat, lon float64, z uint8) feature.Area {
		of, err := quadkey.TileAt(lon, lat, z)
		if err != nil {
			t.Fatal(err)
		}
		return feature.Tile(of)
	}
	for _, c := range []struct {
		typ  string
		in   feature.Area
		want string
	}{
		{"land", r.QueryArea("land", "a"), "a dot isles twin"}, // in itself, and none that touches it
		{"land", r.QueryArea("land", "twin"), "a dot isles twin"},
		{"land", r.QueryArea("land", "b"), "b"},
		{"land", r.QueryArea("land", "corner"), "corner"},
		{"land", r.QueryArea("land", "dot"), "a dot twin"},
		{"land", r.QueryArea("land", "enclave"), "enclave"},
		{"land", r.QueryArea("land", "ring"), "ring"},
		{"land", r.QueryArea("land", "isles"), "a isles twin"},
		{"land", r.QueryArea("land", "seam"), "seam"},
		{"land", r.QueryArea("land", "north"), "north"},
		{"land", other.QueryArea("zone", "a"), "a dot isles twin"},
		{"land", other.QueryArea("zone", "beside"), ""},
		{"land", other.QueryArea("zone", "cap"), "north"},
		{"land", other.QueryArea("zone", "farcap"), ""},
		{"land", other.QueryArea("zone", "pole"), "south"},
		{"land", other.QueryArea("zone", "day"), "seam"},
		{"land", other.QueryArea("zone", "hole"), "enclave"},
		{"land", other.QueryArea("zone", "over"), "a b dot isles twin"},
		{"land", other.QueryArea("zone", "sliver"), "a twin"},
		{"land", other.QueryArea("zone", "strip"), "b"},
		{"line", r.QueryArea("land", "a"), "through"},
		{"line", r.QueryArea("land", "b"), "through"},
		{"line", r.QueryArea("land", "ring"), ""},
		{"line", r.QueryArea("land", "seam"), "date"},
		{"line", other.QueryArea("zone", "day"), ""},
		{"line", r.QueryArea("land", "enclave"), "hole"},
		{"line", other.QueryArea("zone", "equator"), "equator"},
		{"line", other.QueryArea("zone", "sliver"), "through"},
		{"land", drawn(u, u, 3*u, 3*u), "a dot isles twin"},
		{"land", drawn(0, 0, u, 9*u), ""},
		{"land", drawn(10, 86, 11, 87), "north"},
		{"land", drawn(30, 86, 31, 87), ""},
		{"land", drawn(-180, -90, 180, -85.5), "south"},
		{"land", drawn(180, -20, 190, 0), "seam"},
		{"land", drawn(-190, -20, -180, 0), "seam"},
		{"land", drawn(-180, -90, 180, 90), "a b corner dot enclave isles north ring seam south twin"},
		{"land", drawn(11*u, 11*u, 13*u, 13*u), "enclave"},
		{"land", drawn(1.2*u, 1.3*u, 4.2*u, 2.3*u), "a b dot isles twin"},
		{"land", drawn(3*u-0.00002, 0, 3*u, 9*u), "a twin"},
		{"land", drawn(3*u, 1.2*u, 3*u+0.001, 1.2*u+0.001), "b"},
		{"line", drawn(180, -20, 190, 0), ""},
		{"line", drawn(100, -5, 110, 5), "equator"},
		{"line", drawn(3*u-0.00002, 0, 3*u, 9*u), "through"},
		{"line", drawn(11*u, 11*u, 13*u, 13*u), "hole"},
		{"land", tile(0, 0, 0), "a b corner dot enclave isles north ring seam south twin"},
		{"land", tile(8, 129, 126), "a isles twin"},
		{"land", tile(8, 128, 126), ""},
		{"land", tile(8, 131, 126), "b"},
		{"land", tile(1, 1, 1), "seam south"},
		{"land", tile(7, 0, 67), "seam"},
		{"land", at(88, 10, 13), "north"},
		{"land", at(88, 20.05, 13), ""},
		{"land", at(-89.5, 10, 22), "south"},
		{"land", at(-88.9, 19, 22), "south"}, // a tile of the last row reaches to the pole
		{"land", at(1.5*u+0.01, 1.5*u+0.01, 22), "a isles twin"},
		{"land", at(1.5*u+0.01, 3*u+1e-9, 22), "b"},
		{"land", at(1.5*u+0.01, 3*u-1e-9, 22), "a twin"},
		{"line", tile(8, 129, 125), "through"},
		{"line", tile(8, 200, 128), "equator"}, // the tile south of a line along its edge owns the points there
		{"line", tile(8, 200, 127), ""},
		{"line", tile(8, 129, 127), "edge"},
		{"line", tile(8, 128, 127), ""},
		{"line", tile(1, 1, 1), "edge equator"}, // the end of one
		{"line", at(2*u, 2*u+1e-3, 22), "through"},
		{"line", at(2*u+1e-3, 2*u+1e-3, 22), ""},
	} {
		l := layerOf(t, r, c.typ)
		if got := listed(t, l, feature.Query{In: c.in}); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.typ, c.in, got, c.want)
		}
		n := len(strings.Fields(c.want))
		if counted, err := feature.Count(t.Context(), l, &feature.Query{In: c.in}); err != nil || int(counted) != n {
			t.Errorf("%s in %s: %d are counted, %v", c.typ, c.in, counted, err)
		}
	}
	// The test queries layers of the other data set in the areas of this one.
	zone := layerOf(t, other, "zone")
	for id, want := range map[string]string{
		"a": "a over sliver", "ring": "", "north": "cap", "south": "pole", "seam": "day", "enclave": "hole",
	} {
		if got := listed(t, zone, feature.Query{In: r.QueryArea("land", id)}); got != want {
			t.Errorf("zones in %s: %q, want %q", id, got, want)
		}
	}
}

// A tile has the regions that share ground with its square, and with the cap beyond one of the outermost rows.
func TestSharesTiles(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	l, ref := layerOf(t, r, "land"), newStoredWorld(t, store, "land")
	p := newPlanes(t, ref)
	rnd := rand.New(rand.NewPCG(43, 44))
	some := 0
	for range 400 {
		lon, lat := ref.vertex(rnd)
		tile, err := quadkey.TileAt(lon, lat, uint8(rnd.IntN(quadkey.MaxZoom+1)))
		if err != nil {
			t.Fatal(err)
		}
		side := float64(grid.WorldSize) / float64(uint64(1)<<tile.Z)
		x, y := float64(tile.X)*side, float64(tile.Y)*side
		square := planeBox(x, y, x+side, y+side)
		var want []string
		for i, id := range ref.ids {
			common := squareUnits(t, p.tiles[i], square)
			for k, polar := range layout.PolarCaps {
				if tile.Y == [2]uint32{0, 1<<tile.Z - 1}[k] {
					common += squareUnits(t, p.caps[i][k], planeBox(x, float64(polar.Y0), x+side, float64(polar.Y1)))
				}
			}
			if common > 0 {
				want = append(want, id)
			}
		}
		if got := strings.Fields(listed(t, l, feature.Query{In: feature.Tile(tile), Detail: feature.WithoutGeometry})); !slices.Equal(got, want) {
			t.Errorf("tile %v: %v, want %v", tile, got, want)
		}
		if len(want) > 0 && len(want) < len(ref.ids) {
			some++
		}
	}
	if some < 300 {
		t.Errorf("only %d tiles have some regions", some)
	}
}

// cells is an area that consists of whole cells.
type cells []quadkey.Range

func (cells) String() string { return "cells" }

func (c cells) Cover(_ context.Context, _ quadkey.Cell, fn func(*feature.AreaPart) error) error {
	for i := range c {
		if err := fn(&feature.AreaPart{Cells: c[i]}); err != nil {
			return err
		}
	}
	return nil
}

// TestSharesCells tests queries in an area of cells: they find the regions that the tiles of these
// cells have, and the lines there, many of which run along edges of tiles.
func TestSharesCells(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	land, ref := layerOf(t, r, "land"), newStoredWorld(t, store, "land")
	rnd := rand.New(rand.NewPCG(41, 42))
	lines := build.Layer{Type: "line"}
	add := func(l orb.LineString) {
		lines.Features = append(lines.Features, build.Feature{ID: fmt.Sprint("l", len(lines.Features)), Geometry: l})
	}
	add(orb.LineString{{-170, 0}, {0, 0}, {170, 0}})
	add(orb.LineString{{0, -80}, {0, 88}})
	add(orb.LineString{{180, -88}, {180, 80}})
	for range 40 {
		of, err := quadkey.NewTile(6, rnd.IntN(64), rnd.IntN(64))
		if err != nil {
			t.Fatal(err)
		}
		b := of.Bound()
		add(orb.LineString{{b.West, b.North}, {b.East, b.North}})
		add(orb.LineString{{b.West, b.South}, {b.West, b.North}, {b.West - 1, b.North + 0.5}})
	}
	ends := slices.Clone(lines.Features) // a build uses its layers up
	drawn, _, _ := buildReader(t, lines)
	onLine := func(rnd *rand.Rand) (lon, lat float64) {
		l := ends[rnd.IntN(len(ends))].Geometry.(orb.LineString)
		a, b, f := l[0], l[1], rnd.Float64()
		return a[0] + f*(b[0]-a[0]), a[1] + f*(b[1]-a[1])
	}
	for _, c := range []struct {
		l     feature.Layer
		place func(*rand.Rand) (lon, lat float64)
	}{{land, ref.vertex}, {layerOf(t, drawn, "line"), onLine}} {
		some := 0
		for range 150 {
			lon, lat := c.place(rnd)
			first, err := quadkey.CellOf(lon, lat)
			if err != nil {
				t.Fatal(err)
			}
			last := min(uint64(first)+uint64(math.Exp(rnd.Float64()*14)), 1<<32-1)
			in := cells{{First: first, Last: quadkey.Cell(last)}}
			want := map[string]bool{}
			for tile := range in[0].Tiles() {
				for _, id := range strings.Fields(listed(t, c.l, feature.Query{In: feature.Tile(tile), Detail: feature.WithoutGeometry})) {
					want[id] = true
				}
			}
			got := strings.Fields(listed(t, c.l, feature.Query{In: in, Detail: feature.WithoutGeometry}))
			if len(got) != len(want) || slices.ContainsFunc(got, func(id string) bool { return !want[id] }) {
				t.Errorf("%v: %v, want %v", in, got, want)
			}
			if len(got) > 0 {
				some++
			}
		}
		if some < 100 {
			t.Errorf("only %d areas have some", some)
		}
	}
}

// frame is the area between two rectangles on the grid. Its Cover calls fn once, with a part of all
// cells.
type frame struct{ outer, inner grid.Box }

func (frame) String() string { return "frame" }

func (f frame) Cover(_ context.Context, _ quadkey.Cell, fn func(*feature.AreaPart) error) error {
	return fn(&feature.AreaPart{
		Cells:    quadkey.Range{Last: math.MaxUint32},
		Contains: func(quadkey.Position) (bool, error) { return false, errors.New("nobody asks for points") },
		Border: func() (*feature.Border, error) {
			o, i := f.outer, f.inner
			return &feature.Border{Mercator: []feature.Ring{
				{{o.X0, o.Y0}, {o.X1, o.Y0}, {o.X1, o.Y1}, {o.X0, o.Y1}},
				{{i.X0, i.Y0}, {i.X0, i.Y1}, {i.X1, i.Y1}, {i.X1, i.Y0}},
			}}, nil
		},
	})
}

// TestSharesWideBorder tests areas whose border is wider than tiles and has a hole that contains
// whole regions.
func TestSharesWideBorder(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	l, ref := layerOf(t, r, "land"), newStoredWorld(t, store, "land")
	p := newPlanes(t, ref)
	rnd := rand.New(rand.NewPCG(45, 46))
	some := 0
	for range 60 {
		lon, lat := ref.vertex(rnd)
		reach := int32(math.Exp(3 + rnd.Float64()*12))
		x, y := int32(layout.GridX(lon)), int32(layout.MercatorY(max(-85, min(85, lat))))
		f := frame{outer: grid.Box{X0: x - 2*reach, Y0: y - 2*reach, X1: x + 2*reach, Y1: y + 2*reach}}
		f.inner = grid.Box{X0: x - rnd.Int32N(reach) - 1, Y0: y - reach, X1: x + rnd.Int32N(reach) + 1, Y1: y + reach}
		limit := func(b grid.Box) grid.Box {
			return grid.Box{X0: max(b.X0, 0), Y0: max(b.Y0, 0), X1: min(b.X1, grid.WorldSize), Y1: min(b.Y1, grid.WorldSize)}
		}
		f.outer, f.inner = limit(f.outer), limit(f.inner)
		box := func(b grid.Box) geom.Geometry {
			return planeBox(float64(b.X0), float64(b.Y0), float64(b.X1), float64(b.Y1))
		}
		var want []string
		for i, id := range ref.ids {
			if squareUnits(t, p.tiles[i], box(f.outer)) > squareUnits(t, p.tiles[i], box(f.inner))+1e-3 {
				want = append(want, id)
			}
		}
		if got := strings.Fields(listed(t, l, feature.Query{In: f, Detail: feature.WithoutGeometry})); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", f, got, want)
		}
		if len(want) > 0 {
			some++
		}
	}
	if some < 20 {
		t.Errorf("only %d frames have regions", some)
	}
}

// blind is an area without borders.
type blind struct{ feature.Area }

func (b blind) Cover(ctx context.Context, from quadkey.Cell, fn func(*feature.AreaPart) error) error {
	return b.Area.Cover(ctx, from, func(p *feature.AreaPart) error {
		return fn(&feature.AreaPart{Cells: p.Cells, Contains: p.Contains})
	})
}

func TestSharesRefuses(t *testing.T) {
	r, _, _ := buildReader(t, toyLayer())
	l := layerOf(t, r, "land")
	turns, n := errors.New("no more turns"), 0
	step := func(context.Context) error { n++; return turns }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, c := range map[string]struct {
		ctx  context.Context
		q    feature.Query
		want error
	}{
		"no border":    {t.Context(), feature.Query{In: blind{r.QueryArea("land", "west")}}, errors.ErrUnsupported},
		"no region":    {t.Context(), feature.Query{In: r.QueryArea("land", "nowhere")}, feature.ErrNotFound},
		"no type":      {t.Context(), feature.Query{In: r.QueryArea("sea", "a")}, tiles.ErrUnknownType},
		"no tile":      {t.Context(), feature.Query{In: feature.Tile{Z: 3, X: 8}}, feature.ErrQuery},
		"no such mark": {t.Context(), feature.Query{In: r.QueryArea("land", "west"), After: feature.Mark("~")}, feature.ErrCursor},
		"the nearest": {t.Context(), feature.Query{In: r.QueryArea("land", "west"), Near: feature.NearTo(1, 1, 0)},
			errors.ErrUnsupported},
		"an ended ask":   {ended, feature.Query{In: cells{{Last: 1 << 30}}}, context.Canceled},
		"no more turns":  {t.Context(), feature.Query{In: r.QueryArea("land", "west"), Step: step}, turns},
		"turns in tiles": {t.Context(), feature.Query{In: feature.Tile{}, Step: step}, turns},
	} {
		var err error
		for _, err = range l.Features(c.ctx, &c.q) {
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if what == "no border" && !strings.Contains(err.Error(), "no border to compare: ask for those in a box or a tile") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n != 2 {
		t.Errorf("%d turns", n)
	}
}

// A search calls Query.Step while it compares the many edges of a row, and skips distant edges
// quickly.
func TestSharesTakesTurns(t *testing.T) {
	const unit, edges = 360.0 / grid.WorldSize, 4000
	var lines build.Layer
	lines.Type = "line"
	for i := range 5 {
		var l orb.LineString
		for k := range edges + 1 {
			l = append(l, orb.Point{float64(k) * unit, (100*float64(i) + 500 + 80*float64(k%2)) * unit})
		}
		lines.Features = append(lines.Features, build.Feature{ID: fmt.Sprint("l", i), Geometry: l})
	}
	land := build.Layer{Type: "land", Features: []build.Feature{
		{ID: "far", Geometry: tilestest.Square(100*unit, 100*unit, 200*unit, 200*unit)},
		{ID: "near", Geometry: tilestest.Square(4000*unit, 400*unit, 4090*unit, 4000*unit)},
		{ID: "on", Geometry: tilestest.Square(3900*unit, 400*unit, 3990*unit, 520*unit)},
	}}
	r, _, _ := buildReader(t, lines, land)
	for of, want := range map[string]string{"far": "", "near": "", "on": "l0"} {
		turns := 0
		q := feature.Query{In: r.QueryArea("land", of), Step: func(context.Context) error { turns++; return nil }}
		if got := listed(t, layerOf(t, r, "line"), q); got != want || turns < 4 {
			t.Errorf("%s: %q in %d turns", of, got, turns)
		}
	}
}

// A line along ±180° is within a region on both sides of it, and lies on the border of a region
// that ends there.
func TestSharesSeam(t *testing.T) {
	r, _, _ := buildReader(t, build.Layer{Type: "land", Features: []build.Feature{
		{ID: "both", Geometry: tilestest.Square(179.99, -9.03, 180.01, -9.02)},
		{ID: "east", Geometry: tilestest.Square(-180, -9.03, -179.99, -9.02)},
		{ID: "west", Geometry: tilestest.Square(179.99, -9.03, 180, -9.02)},
		{ID: "wide", Geometry: tilestest.Square(178, -12, 182, -9)},
	}}, build.Layer{Type: "line", Features: []build.Feature{
		{ID: "a", Geometry: orb.LineString{{180, -9.028}, {180, -9.022}}},
		{ID: "b", Geometry: orb.LineString{{-180, -9.028}, {-180, -9.022}}},
	}})
	for of, want := range map[string]string{"both": "a b", "east": "", "west": "", "wide": "a b"} {
		if got := listed(t, layerOf(t, r, "line"), feature.Query{In: r.QueryArea("land", of)}); got != want {
			t.Errorf("in %s: %q, want %q", of, got, want)
		}
	}
}

// TestSharesRim tests that a region that ends at the rim of the grid shares no ground with the
// polar cap beyond the rim.
func TestSharesRim(t *testing.T) {
	r, _, _ := buildReader(t,
		build.Layer{Type: "land", Features: []build.Feature{
			{ID: "below", Geometry: tilestest.Square(0, 85, 1, 85.05)},
			{ID: "across", Geometry: tilestest.Square(2, 85, 3, 86)},
		}},
		build.Layer{Type: "cap", Features: []build.Feature{{ID: "cap", Geometry: tilestest.Square(0, 85.06, 3, 87)}}})
	for of, want := range map[string]string{"below": "", "across": "cap"} {
		if got := listed(t, layerOf(t, r, "cap"), feature.Query{In: r.QueryArea("land", of)}); got != want {
			t.Errorf("in %s: %q", of, got)
		}
	}
}

// TestLayerInAreas tests that orders, pages and filters also work in queries with an area.
func TestLayerInAreas(t *testing.T) {
	r, _, _ := buildReader(t, toyLayer(), blobs("ward", 1, 10.2, 10.2, 0.5, 12))
	other, _, _ := buildReader(t, blobs("zone", 2, 179.9, 84, 30, 6), blobs("district", 4, 10.2, 10.2, 0.8, 4))
	areas := []feature.Area{cells{{First: 1 << 29, Last: 1<<29 + 1<<28}}}
	for _, id := range []string{"west", "hat", "ice", "islands"} {
		areas = append(areas, r.QueryArea("land", id))
	}
	for i := range 4 {
		areas = append(areas, other.QueryArea("zone", fmt.Sprint("zone", i)), other.QueryArea("district", fmt.Sprint("district", i)))
	}
	layertest.Test(t, layerOf(t, r, "ward"), layertest.Options{Rounds: 8, Areas: areas})
	layertest.Test(t, layerOf(t, r, "land"), layertest.Options{Rounds: 8, Areas: areas})
}

// counted counts what a test finds.
type counted struct {
	*testing.T
	faults int
}

func (c *counted) Errorf(string, ...any) { c.faults++ }

// wrong is a layer that gives wrong answers in areas.
type wrong struct {
	feature.Layer
	spare func(f *feature.Feature) bool
	all   bool
}

func (w wrong) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	_, boxed := q.In.(feature.Box)
	asked := *q
	if !boxed && w.all {
		asked.In = nil
	}
	return func(yield func(*feature.Feature, error) bool) {
		for f, err := range w.Layer.Features(ctx, &asked) {
			if err == nil && !boxed && q.In != nil && w.spare(f) {
				continue
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// TestLayertestJudgesAreas tests that layertest detects a layer that compares only the bounding
// boxes of regions with an area.
func TestLayertestJudgesAreas(t *testing.T) {
	r, _, _ := buildReader(t, toyLayer())
	in := []feature.Area{r.QueryArea("land", "west"), r.QueryArea("land", "big")}
	for what, l := range map[string]feature.Layer{
		"lacks one":   wrong{Layer: layerOf(t, r, "land"), spare: func(f *feature.Feature) bool { return f.ID == "west" }},
		"has all":     wrong{Layer: layerOf(t, r, "land"), spare: func(*feature.Feature) bool { return false }, all: true},
		"has nothing": wrong{Layer: layerOf(t, r, "land"), spare: func(*feature.Feature) bool { return true }},
	} {
		found := &counted{T: t}
		layertest.Test(found, l, layertest.Options{Rounds: 3, Areas: in})
		if found.faults == 0 {
			t.Errorf("a layer that %s: nothing is found", what)
		}
	}
}

// patchwork returns two countries side by side, each of n times n counties. Counties share borders
// with each other and with the countries. A county is half a degree wide, with eight vertices a
// side.
func patchwork(n int) []build.Layer {
	rnd := rand.New(rand.NewPCG(51, 52))
	const size, parts = 0.5, 8
	joint := map[[2]int]orb.Point{}
	at := func(x, y int) orb.Point { // in parts of a side
		p, ok := joint[[2]int{x, y}]
		if !ok {
			p = orb.Point{5 + (float64(x)+0.6*rnd.Float64())*size/parts, 45 + (float64(y)+0.6*rnd.Float64())*size/parts}
			joint[[2]int{x, y}] = p
		}
		return p
	}
	around := func(x0, y0, x1, y1 int) orb.Polygon {
		var r orb.Ring
		for x := x0 * parts; x < x1*parts; x++ {
			r = append(r, at(x, y0*parts))
		}
		for y := y0 * parts; y < y1*parts; y++ {
			r = append(r, at(x1*parts, y))
		}
		for x := x1 * parts; x > x0*parts; x-- {
			r = append(r, at(x, y1*parts))
		}
		for y := y1 * parts; y > y0*parts; y-- {
			r = append(r, at(x0*parts, y))
		}
		return orb.Polygon{append(r, r[0])}
	}
	counties, countries := build.Layer{Type: "county"}, build.Layer{Type: "country"}
	for i := range 2 {
		countries.Features = append(countries.Features, build.Feature{ID: fmt.Sprint("country", i), Geometry: around(i*n, 0, (i+1)*n, n)})
		for k := range n * n {
			x, y := i*n+k%n, k/n
			counties.Features = append(counties.Features, build.Feature{ID: fmt.Sprintf("c%d-%03d", i, k), Geometry: around(x, y, x+1, y+1)})
		}
	}
	return []build.Layer{countries, counties}
}

// TestSharesPatchwork tests that each county is in its own country, and that a country does not
// contain its neighbours.
func TestSharesPatchwork(t *testing.T) {
	r, _, _ := buildReader(t, patchwork(5)...)
	county, country := layerOf(t, r, "county"), layerOf(t, r, "country")
	for i := range 2 {
		var want []string
		for k := range 25 {
			want = append(want, fmt.Sprintf("c%d-%03d", i, k))
		}
		of := fmt.Sprint("country", i)
		if got := listed(t, county, feature.Query{In: r.QueryArea("country", of)}); got != strings.Join(want, " ") {
			t.Errorf("counties in %s: %s", of, got)
		}
		for _, id := range want {
			if got := listed(t, country, feature.Query{In: r.QueryArea("county", id)}); got != of {
				t.Errorf("the country of %s: %s", id, got)
			}
			if got := listed(t, county, feature.Query{In: r.QueryArea("county", id)}); got != id {
				t.Errorf("counties in %s: %s", id, got)
			}
		}
		if got := listed(t, country, feature.Query{In: r.QueryArea("country", of)}); got != of {
			t.Errorf("countries in %s: %s", of, got)
		}
	}
}

// The pages of an area have each of its regions once, for any page size. Count reads no records.
func TestSharesPages(t *testing.T) {
	const n = 12
	r, _, _ := buildReader(t, patchwork(n)...)
	l := layerOf(t, r, "county")
	in := cells{{Last: math.MaxUint32}}
	want := strings.Fields(listed(t, l, feature.Query{Detail: feature.WithoutGeometry}))
	for _, limit := range []int{7, 100, 257, 1000} {
		var got []string
		q := feature.Query{In: in, Detail: feature.WithoutGeometry}
		for {
			next, err := feature.Page(t.Context(), l, q, limit, func(f *feature.Feature) error {
				got = append(got, f.ID)
				return nil
			})
			if err == nil {
				err = q.Continue(l.Info(), next)
			}
			if err != nil {
				t.Fatal(err)
			}
			if next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", limit, got, want)
		}
	}
	counter := l.(feature.Counter)
	if c, err := counter.Count(t.Context(), &feature.Query{In: in, After: feature.Mark(want[3])}); err != nil || c != 2*n*n {
		t.Errorf("%d are counted, %v", c, err)
	}
	for _, in := range []feature.Area{feature.Box(quadkey.World), feature.Tile{}} {
		if _, err := counter.Count(t.Context(), &feature.Query{In: in}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("those of %v are counted: %v", in, err)
		}
	}
}

// BenchmarkSharing lists the regions in a region of a small world, and those in the box around it.
func BenchmarkSharing(b *testing.B) {
	r, _, _ := buildReader(b, patchwork(10)...)
	county, country := layerOf(b, r, "county"), layerOf(b, r, "country")
	var of feature.Feature
	if err := country.Get(b.Context(), "country0", time.Time{}, &of); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		l    feature.Layer
		in   feature.Area
	}{
		{"counties in a country", county, r.QueryArea("country", "country0")},
		{"counties in its box", county, feature.Box(of.Bounds)},
		{"counties in a tile", county, feature.Tile{Z: 7, X: 66, Y: 45}},
		{"countries in a country", country, r.QueryArea("country", "country0")},
		{"the country of a county", country, r.QueryArea("county", "c0-055")},
		{"all counties", county, cells{{Last: math.MaxUint32}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n += len(strings.Fields(listed(b, c.l, feature.Query{In: c.in, Detail: feature.WithoutGeometry})))
			}
			b.ReportMetric(float64(n)/float64(b.N), "found/op")
		})
	}
}
