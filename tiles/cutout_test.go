//go:build !race

package tiles_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/planar"
	"github.com/peterstace/simplefeatures/geom"

	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// cutoutOf parses a cutout.
func cutoutOf(t testing.TB, r *tiles.Reader, typ, id string, b quadkey.Box) (orb.MultiPolygon, int) {
	t.Helper()
	out, zoom, err := r.AppendCutout(context.Background(), nil, typ, id, b)
	if err != nil {
		t.Fatalf("%s in %v: %v", id, b, err)
	}
	if len(out) == 0 {
		return nil, zoom
	}
	f, err := geojson.UnmarshalFeature(out)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if f.ID != typ+":"+id || f.Properties["id"] != id || f.Properties["type"] != typ {
		t.Fatalf("%s", out)
	}
	switch g := f.Geometry.(type) {
	case orb.Polygon:
		return orb.MultiPolygon{g}, zoom
	case orb.MultiPolygon:
		return g, zoom
	}
	t.Fatalf("%s", out)
	return nil, 0
}

// onGrid takes a cutout to grid units.
func onGrid(t testing.TB, mp orb.MultiPolygon) geom.Geometry {
	t.Helper()
	var polys []geom.Polygon
	for _, p := range mp {
		var rings []geom.LineString
		for i, r := range p {
			if want := orb.CCW; i == 0 && r.Orientation() != want {
				t.Fatalf("a shell runs clockwise")
			}
			var c []float64
			for _, q := range r {
				c = append(c, layout.GridX(q[0]), layout.MercatorY(q[1]))
			}
			rings = append(rings, geom.NewLineString(geom.NewSequence(c, geom.DimXY)))
		}
		polys = append(polys, geom.NewPolygon(rings))
	}
	g := geom.NewMultiPolygon(polys).AsGeometry()
	if err := g.Validate(); err != nil {
		t.Fatalf("not valid: %v", err)
	}
	return g
}

// testCutout compares cutouts of zoom 13 with the intersections of the reference, by area and by
// vertices: a leftover border along a tile line would add vertices.
func testCutout(t *testing.T, r *tiles.Reader, ref *storedWorld, n int) {
	p := newPlanes(t, ref)
	rnd := rand.New(rand.NewPCG(35, 36))
	some := 0
	for range n {
		b := randomBox(rnd, ref)
		if b.North > 84.9 || b.South < -84.9 {
			b.North, b.South = min(b.North, 84), max(b.South, -84)
			if b.South >= b.North {
				continue
			}
		}
		i := rnd.IntN(len(ref.ids))
		id := ref.ids[i]
		mp, zoom := cutoutOf(t, r, ref.typ, id, b)
		if zoom < grid.MaxZoom {
			continue // simplified
		}
		want, vertices := 0.0, 0
		for _, q := range pieces(b) {
			if q[0] == q[2] || q[1] == q[3] {
				continue
			}
			g, err := geom.Intersection(p.tiles[i], planeBox(q[0], q[1], q[2], q[3]))
			if err != nil {
				t.Fatal(err)
			}
			want += g.Area()
			vertices += g.DumpCoordinates().Length()
		}
		got := onGrid(t, mp)
		// Vertices at the edges are off by a sixteenth of a unit. Rounding to seven decimals of a
		// degree adds as much.
		slack := 0.2*(got.Boundary().Length()+1) + 1
		if math.Abs(got.Area()-want) > slack {
			t.Fatalf("%s in %v: area %v, want %v", id, b, got.Area(), want)
		}
		if v := got.DumpCoordinates().Length(); v > vertices+vertices/10+8 {
			t.Fatalf("%s in %v: %d vertices, want about %d", id, b, v, vertices)
		}
		if want > 0 {
			some++
		}
	}
	if some < n/50 {
		t.Errorf("only %d cutouts of %d are something", some, n)
	}
}

func TestCutout(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	testCutout(t, r, newStoredWorld(t, store, "land"), 1500)
}

func TestCutoutEdges(t *testing.T) {
	r, _, _ := buildReader(t, toyLayer(), build.Layer{
		Type:     "block",
		Features: []build.Feature{{ID: "all", Geometry: tilestest.Square(-60, -60, 60, 60)}},
	})
	box := func(s string) quadkey.Box {
		b, err := quadkey.ParseBox(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		typ, id, box string
		polygons     int
		area         float64 // square degrees
		vertices     int     // of all rings, first points once
	}{
		{"land", "hat", "-180,-90,180,90", 1, 15 * 5, 4}, // across the limit of the tiles, in one piece
		{"land", "hat", "60,85.5,75,86", 1, 15 * 0.5, 4},
		{"land", "hat", "65,85,66,85.5", 1, 0.5, 4},
		{"land", "hat", "0,90,180,90", 0, 0, 0},
		{"land", "hat", "76,80,90,90", 0, 0, 0},
		{"land", "dateline", "170,-20,-170,-10", 2, 0.7 * 0.6, 8},
		{"land", "dateline", "179.8,-20,180,-10", 1, 0.2 * 0.6, 4},
		{"land", "dateline", "-180,-20,-179.8,-10", 1, 0.2 * 0.6, 4},
		{"land", "dateline", "-180,-20,180,-10", 2, 0.7 * 0.6, 8},
		{"land", "dateline", "180,-17,180,-16", 0, 0, 0}, // without area
		{"land", "ice", "-180,-90,180,-86.6", 1, 360 * 3.4, 4},
		{"land", "ice", "10,-90,11,-88", 1, 2, 4},
		{"land", "west", "10.2,10.2,10.2,10.4", 0, 0, 0},
		{"block", "all", "-10,-10,-9.9,-9.9", 1, 0.01, 4}, // in a leaf
		{"block", "all", "-1,-1,1,1", 1, 4, 4},            // four leaves
		{"block", "all", "-180,-90,180,90", 1, 120 * 120, 4},
		{"block", "all", "61,0,180,1", 0, 0, 0},
	} {
		mp, zoom := cutoutOf(t, r, c.typ, c.id, box(c.box))
		n := 0
		for _, p := range mp {
			for _, ring := range p {
				n += len(ring) - 1
			}
		}
		area := planar.Area(mp)
		if len(mp) != c.polygons || math.Abs(area-c.area) > 1e-4*max(1, c.area) {
			t.Errorf("%s in %s: %d polygons of %v square degrees at zoom %d, want %d of %v", c.id, c.box, len(mp), area, zoom, c.polygons, c.area)
		}
		if zoom == grid.MaxZoom && n > 2*c.vertices {
			t.Errorf("%s in %s: %d vertices, want about %d: %v", c.id, c.box, n, c.vertices, mp)
		}
	}
	// This box holds too much for one answer: it gets a coarser zoom, and the whole region.
	if mp, zoom := cutoutOf(t, r, "land", "big", quadkey.World); zoom >= grid.MaxZoom || zoom < 5 || len(mp) == 0 {
		t.Errorf("zoom %d, %d polygons", zoom, len(mp))
	}
	ctx := context.Background()
	for _, c := range []struct {
		typ, id string
		box     quadkey.Box
		want    error
	}{
		{"sea", "a", quadkey.World, tiles.ErrUnknownType},
		{"land", "nowhere", quadkey.World, tiles.ErrNotFound},
		{"land", "big", quadkey.Box{South: 1}, quadkey.ErrBox},
	} {
		if out, _, err := r.AppendCutout(ctx, nil, c.typ, c.id, c.box); !errors.Is(err, c.want) || len(out) > 0 {
			t.Errorf("%s:%s: %s, %v", c.typ, c.id, out, err)
		}
	}
	// The cutout is appended to what dst already has.
	out, _, err := r.AppendCutout(ctx, []byte("["), "land", "east", quadkey.World)
	if err != nil || !json.Valid(fmt.Append(out, "]")) {
		t.Errorf("%s, %v", out, err)
	}
}

// TestCutoutOfMerged tests that a cutout never shows a zoom at which regions are merged. It shows a
// deeper zoom instead, and is refused with ErrTooLarge if it would be too large there. A zoom that
// is only simplified counts like any other.
func TestCutoutOfMerged(t *testing.T) {
	comb := orb.Ring{{0, 0}}
	for i := range 40 {
		lon := float64(i) / 10
		comb = append(comb, orb.Point{lon + 0.02, 50}, orb.Point{lon + 0.1, 1})
	}
	comb = append(comb, orb.Point{4.1, 0}, comb[0])
	layer := toyLayer()
	layer.Features = append(layer.Features, build.Feature{ID: "comb", Geometry: orb.Polygon{comb}})
	store := tilestest.OpenStore(t)
	meta, _, err := build.Run(t.Context(), store, []build.Layer{layer}, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	open := func(g ...tiles.Generalisation) *tiles.Reader {
		meta.Types[0].Generalised = g
		r, err := tiles.Open(t.Context(), store, meta)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain := open()
	_, big := cutoutOf(t, plain, "land", "big", quadkey.World)
	_, combed := cutoutOf(t, plain, "land", "comb", quadkey.World)
	if combed == 0 || max(big, combed) == grid.MaxZoom {
		t.Fatalf("zooms %d and %d", big, combed)
	}
	thinned := open(tiles.Generalisation{Zoom: grid.MaxZoom - 1, SimplifiedZooms: 1})
	if _, zoom := cutoutOf(t, thinned, "land", "comb", quadkey.World); zoom != combed {
		t.Errorf("zoom %d where borders are simplified, want %d", zoom, combed)
	}
	merged := open(tiles.Generalisation{Zoom: big, MergedPolygons: 1})
	if _, zoom := cutoutOf(t, merged, "land", "big", quadkey.World); zoom != big+1 {
		t.Errorf("zoom %d, want %d, the last without merged regions", zoom, big+1)
	}
	merged = open(tiles.Generalisation{Zoom: grid.MaxZoom - 1, MergedPolygons: 1})
	out, _, err := merged.AppendCutout(t.Context(), nil, "land", "comb", quadkey.World)
	if !errors.Is(err, tiles.ErrTooLarge) || len(out) > 0 {
		t.Errorf("%d bytes, %v; want a refusal", len(out), err)
	}
	if _, zoom := cutoutOf(t, merged, "land", "comb", quadkey.Box{West: 1, South: 20, East: 2, North: 21}); zoom != grid.MaxZoom {
		t.Errorf("zoom %d in a smaller box", zoom)
	}
}
