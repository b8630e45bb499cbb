package platecarree_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/mvt"
	"quadrille/tiles/platecarree"
)

const extent, buffer = mvt.Extent, mvt.Extent / 64

// fraction returns the place of a position on Web Mercator, 0 to 1 from the north-west.
func fraction(lon, lat float64) (x, y float64) {
	return (lon + 180) / 360, (1 - math.Asinh(math.Tan(lat*math.Pi/180))/math.Pi) / 2
}

// triangle has corners on Web Mercator in units of the deepest tiles that a test uses, clockwise on a
// screen.
type triangle [3]grid.Point

const unitZoom = 6

// side returns twice the area of the triangle of an edge and a point, positive on the inside.
func side(a, b grid.Point, x, y float64) float64 {
	return float64(b.X-a.X)*(y-float64(a.Y)) - float64(b.Y-a.Y)*(x-float64(a.X))
}

// depth returns how far a place lies inside the triangle, in units; negative outside.
func (tr triangle) depth(x, y float64) float64 {
	d := math.Inf(1)
	for i, a := range tr {
		b := tr[(i+1)%3]
		d = min(d, side(a, b, x, y)/math.Hypot(float64(b.X-a.X), float64(b.Y-a.Y)))
	}
	return d
}

// source has triangles as polygons and their corners as points, in two layers.
func source(all []triangle) platecarree.Source {
	return platecarree.Source{Mercator: func(dst []byte, t quadkey.Tile) ([]byte, error) {
		var areas, corners mvt.Layer
		areas.Reset("areas")
		corners.Reset("corners")
		var clip grid.Clipper
		box := grid.Box{X0: -buffer, Y0: -buffer, X1: extent + buffer, Y1: extent + buffer}
		for i, tr := range all {
			var edges []grid.Edge
			at := func(p grid.Point) grid.Point { return grid.Pt(p.X-int32(t.X)*extent, p.Y-int32(t.Y)*extent) }
			for j, p := range tr {
				edges = append(edges, grid.Edge{A: at(p), B: at(tr[(j+1)%3])})
				if q := at(p); q.X >= 0 && q.X < extent && q.Y >= 0 && q.Y < extent {
					corners.Begin(uint64(3*i+j+1), mvt.Point)
					corners.TagInt("of", int64(i))
					corners.Point(q)
					corners.End()
				}
			}
			areas.Begin(uint64(i+1), mvt.Polygon)
			areas.TagString("name", fmt.Sprint("triangle ", i))
			for _, p := range clip.Polygons(edges, grid.WindingFromNorth(edges, box.Corner()), box, 0) {
				for _, ring := range p {
					areas.Ring(ring)
				}
			}
			areas.End()
		}
		return corners.AppendTo(areas.AppendTo(dst)), nil
	}}
}

// features returns the rings or points of the features of a layer by their ids.
func features(t *rapid.T, tile []byte, layer string) map[uint64][][]grid.Point {
	out := map[uint64][][]grid.Point{}
	var v mvt.LayerView
	for {
		rest, ok, err := mvt.NextLayer(tile, &v)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		tile = rest
		for i := 0; i < v.Len() && string(v.Name) == layer; i++ {
			f, err := v.Feature(i)
			if err != nil {
				t.Fatal(err)
			}
			if out[f.ID] != nil {
				t.Fatalf("%s has feature %d twice", layer, f.ID)
			}
			var p mvt.Path
			for p.Reset(f); ; {
				path, _, ok, err := p.Next(nil)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				out[f.ID] = append(out[f.ID], path)
			}
		}
	}
}

// winds reports whether rings hold a place, by the even-odd rule.
func winds(rings [][]grid.Point, x, y float64) (in bool) {
	for _, ring := range rings {
		for i, a := range ring {
			b := ring[(i+1)%len(ring)]
			if (float64(a.Y) > y) != (float64(b.Y) > y) &&
				x < float64(a.X)+(y-float64(a.Y))/float64(b.Y-a.Y)*float64(b.X-a.X) {
				in = !in
			}
		}
	}
	return in
}

// TestAppend compares tiles with triangles that are compared with places by arithmetic.
func TestAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := unitZoom - 1
		at := quadkey.Tile{Z: unitZoom, X: rapid.Uint32Range(0, 1<<unitZoom-1).Draw(t, "x"), Y: rapid.Uint32Range(0, 1<<z-1).Draw(t, "y")}
		// Triangles lie around the tile.
		corner := rapid.Custom(func(t *rapid.T) grid.Point {
			lat := 90 - 180*(float64(at.Y)+rapid.Float64Range(-1, 2).Draw(t, "lat"))/float64(int(1)<<z)
			_, y := fraction(0, max(-quadkey.MaxLatitude, min(quadkey.MaxLatitude, lat)))
			x := float64(at.X) + rapid.Float64Range(-1, 2).Draw(t, "lon")
			return grid.Pt(int32(x*extent), min(int32(y*extent*(1<<unitZoom)), extent<<unitZoom-1))
		})
		var all []triangle
		for range rapid.IntRange(1, 4).Draw(t, "triangles") {
			tr := triangle{corner.Draw(t, "a"), corner.Draw(t, "b"), corner.Draw(t, "c")}
			switch s := side(tr[0], tr[1], float64(tr[2].X), float64(tr[2].Y)); {
			case s < 0:
				tr[1], tr[2] = tr[2], tr[1]
			case s == 0:
				continue
			}
			all = append(all, tr)
		}
		tile, err := platecarree.Append(context.Background(), nil, at, source(all))
		if err != nil {
			t.Fatal(err)
		}
		if err := mvt.Validate(tile); err != nil {
			t.Fatal(err)
		}
		areas, corners := features(t, tile, "areas"), features(t, tile, "corners")
		for range 200 {
			const first, last = 1 - buffer, extent + buffer - 1 // not on the edge of the frame
			x, y := rapid.Float64Range(first, last).Draw(t, "px"), rapid.Float64Range(first, last).Draw(t, "py")
			lat := 90 - 180*(float64(at.Y)+y/extent)/float64(int(1)<<z)
			if math.Abs(lat) > quadkey.MaxLatitude {
				continue
			}
			_, fy := fraction(0, lat)
			mx, my := float64(at.X)*extent+x, fy*extent*(1<<unitZoom)
			for i, tr := range all {
				d := tr.depth(mx, my)
				// An edge that is straight on Web Mercator is drawn straight in degrees: it bends by this.
				stretch := 1 / math.Cos(lat*math.Pi/180)
				if far := 4*stretch + bend(tr); math.Abs(d) > far && winds(areas[uint64(i+1)], x, y) != (d > 0) {
					t.Fatalf("tile %v: triangle %d (%v) at %.1f, %.1f: depth %.1f of %.1f, drawn %v", at, i, tr, x, y, d, far, d <= 0)
				}
			}
		}
		for i, tr := range all {
			for j, p := range tr {
				lat := math.Atan(math.Sinh(math.Pi*(1-2*float64(p.Y)/(extent<<unitZoom)))) * 180 / math.Pi
				x, y := float64(p.X)-float64(at.X)*extent, (90-lat)/180*float64(int(1)<<z)*extent-float64(at.Y)*extent
				got := corners[uint64(3*i+j+1)]
				switch inside := x >= 0 && x < extent && y >= 0 && y < extent; {
				case math.Abs(y) < 1e-6 || math.Abs(y-extent) < 1e-6:
				case inside != (got != nil):
					t.Fatalf("corner at %.1f, %.1f: %v", x, y, got)
				case inside && (math.Abs(x-float64(got[0][0].X)) >= 1 || math.Abs(y-float64(got[0][0].Y)) >= 1):
					t.Fatalf("corner at %.1f, %.1f is drawn at %v", x, y, got)
				}
			}
		}
	})
}

// bend bounds how far an edge of a triangle, straight on Web Mercator, leaves the straight line in
// degrees between its ends, in units of Web Mercator.
func bend(tr triangle) (most float64) {
	lat := func(y float64) float64 { return math.Atan(math.Sinh(math.Pi * (1 - 2*y/(extent<<unitZoom)))) }
	for i, a := range tr {
		b := tr[(i+1)%3]
		for k := range 16 {
			f := float64(k+1) / 17
			y := float64(a.Y) + f*float64(b.Y-a.Y)
			straight := lat(float64(a.Y)) + f*(lat(float64(b.Y))-lat(float64(a.Y)))
			_, fy := fraction(0, straight*180/math.Pi)
			most = max(most, math.Abs(fy*(extent<<unitZoom)-y))
		}
	}
	return 1.1 * most
}

// TestAppendOnce finds every point and the whole length of a line in the tiles of a zoom once.
func TestAppendOnce(t *testing.T) {
	const z = 2
	line := platecarree.Source{Mercator: func(dst []byte, m quadkey.Tile) ([]byte, error) {
		var l mvt.Layer
		l.Reset("line")
		l.Begin(7, mvt.LineString)
		l.TagString("name", "meridian")
		l.Line([]grid.Point{{X: 100, Y: -buffer}, {X: 100, Y: extent + buffer}})
		l.End()
		l.Begin(8, mvt.Point)
		l.Point(grid.Pt(5, 0))
		l.End()
		return l.AppendTo(dst), nil
	}}
	length, points := 0, 0
	for y := range uint32(1 << z) {
		tile, err := platecarree.Append(t.Context(), nil, quadkey.Tile{Z: z + 1, X: 3, Y: y}, line)
		if err != nil {
			t.Fatal(err)
		}
		var v mvt.LayerView
		for rest, ok, err := mvt.NextLayer(tile, &v); ok; rest, ok, err = mvt.NextLayer(rest, &v) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range v.Len() {
				f, _ := v.Feature(i)
				var p mvt.Path
				p.Reset(f)
				for path, _, ok, _ := p.Next(nil); ok; path, _, ok, _ = p.Next(nil) {
					if f.Type == mvt.Point {
						points += len(path)
						continue
					}
					if name := string(v.StringTag(f, "name")); name != "meridian" || f.ID != 7 {
						t.Errorf("line %d has the name %q", f.ID, name)
					}
					for j := 1; j < len(path); j++ {
						length += int(min(max(path[j].Y, 0), extent) - min(max(path[j-1].Y, 0), extent))
					}
				}
			}
		}
	}
	// Each tile of the source may have a unit of its neighbour's.
	if want := int(math.Round(2 * quadkey.MaxLatitude / 180 * extent * (1 << z))); length < want-1 || length > want+1<<(z+1) {
		t.Errorf("the line has %d units, want %d", length, want)
	}
	if want := 1 << (z + 1); points != want {
		t.Errorf("%d points, want %d", points, want)
	}
}

// TestAppendSeam draws a line along the edge of two tiles of the source, which both have it.
func TestAppendSeam(t *testing.T) {
	from := platecarree.Source{Mercator: func(dst []byte, m quadkey.Tile) ([]byte, error) {
		equator := int32(1)<<(m.Z-1) - int32(m.Y) // in tiles from the northern edge
		if equator < 0 || equator > 1 {
			return dst, nil
		}
		var l mvt.Layer
		l.Reset("line")
		l.Begin(1, mvt.LineString)
		l.Line([]grid.Point{{X: -buffer, Y: equator * extent}, {X: extent + buffer, Y: equator * extent}})
		l.End()
		return l.AppendTo(dst), nil
	}}
	for _, at := range []quadkey.Tile{{Z: 1}, {Z: 2, Y: 0}, {Z: 2, Y: 1}, {Z: 8, X: 7, Y: 63}, {Z: 8, X: 7, Y: 64}} {
		tile, err := platecarree.Append(t.Context(), nil, at, from)
		var v mvt.LayerView
		if _, ok, _ := mvt.NextLayer(tile, &v); err != nil || !ok || v.Len() != 1 {
			t.Errorf("%v has %d lines, error %v", at, v.Len(), err)
		}
	}
}

// TestAppendRows asks for the tiles that a tile needs and for no others.
func TestAppendRows(t *testing.T) {
	for at, want := range map[quadkey.Tile][2]int{
		{Z: 1, X: 1}:          {0, 1},
		{Z: 2, X: 1}:          {0, 2}, // the buffer to the south is beyond the equator
		{Z: 6, X: 1, Y: 0}:    {0, 1},
		{Z: 6, X: 1, Y: 1}:    {1, 8},
		{Z: 6, X: 1, Y: 15}:   {30, 32},
		{Z: 10, X: 5, Y: 0}:   {0, -1}, // the polar cap alone
		{Z: 10, X: 5, Y: 511}: {0, -1},
	} {
		got := [2]int{0, -1}
		for m := range platecarree.Rows(at) {
			if got[1] < 0 {
				got[0] = int(m.Y)
			}
			if got[1] = int(m.Y); m.X != at.X || m.Z != at.Z {
				t.Errorf("%v needs %v", at, m)
			}
		}
		if got != want {
			t.Errorf("%v needs rows %v, want %v", at, got, want)
		}
	}
}

// TestAppendCap joins what a polar cap has to the polygon of the same id, which keeps the attributes that
// it has in the tile.
func TestAppendCap(t *testing.T) {
	square := func(ring []grid.Point, name string) []byte {
		var l mvt.Layer
		l.Reset("land")
		l.Begin(1, mvt.Polygon)
		l.TagString("name", name)
		l.Ring(ring)
		l.End()
		return l.AppendTo(nil)
	}
	const size = 1 << 25
	from := platecarree.Source{
		Mercator: func([]byte, quadkey.Tile) ([]byte, error) {
			return square([]grid.Point{{X: -buffer, Y: -buffer}, {X: extent + buffer, Y: -buffer}, {X: extent + buffer, Y: extent + buffer},
				{X: -buffer, Y: extent + buffer}}, "tile"), nil
		},
		Cap: func(_ []byte, south bool) ([]byte, error) {
			if !south {
				return nil, nil
			}
			return square([]grid.Point{{X: 0, Y: 0}, {X: size, Y: 0}, {X: size, Y: size / 2}, {X: 0, Y: size / 2}}, "cap"), nil
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		z := uint8(rapid.IntRange(1, 22).Draw(t, "zoom"))
		// Its row is that of 85.05° south or deeper.
		first := uint32((90 + quadkey.MaxLatitude) / 180 * float64(uint(1)<<(z-1)))
		at := quadkey.Tile{Z: z, X: rapid.Uint32Range(0, 1<<z-1).Draw(t, "x"), Y: rapid.Uint32Range(first, 1<<(z-1)-1).Draw(t, "y")}
		tile, err := platecarree.Append(context.Background(), nil, at, from)
		if err != nil {
			t.Fatal(err)
		}
		land := features(t, tile, "land")[1]
		if len(land) != 1 || len(land[0]) != 4 { // also where the world ends at ±180°
			t.Fatalf("tile %v has land with other corners than its own: %v", at, land)
		}
		for range 20 {
			x, y := rapid.Float64Range(1, extent-1).Draw(t, "px"), rapid.Float64Range(1, extent-1).Draw(t, "py")
			lat := 90 - 180*(float64(at.Y)+y/extent)/math.Exp2(float64(z-1))
			if lat < quadkey.MaxLatitude && !winds(land, x, y+1e-3) {
				t.Fatalf("tile %v has no land at %.2f, %.2f (%.4f°): %v", at, x, y, lat, land)
			}
		}
	})
}

// TestAppendFails returns the errors of a source, and those of its bytes.
func TestAppendFails(t *testing.T) {
	broken := errors.New("broken")
	for _, fail := range []func([]byte) ([]byte, error){
		func([]byte) ([]byte, error) { return nil, broken },
		func([]byte) ([]byte, error) { return []byte{0x1a, 0xff}, nil },
	} {
		_, err := platecarree.Append(t.Context(), nil, quadkey.Tile{Z: 1}, platecarree.Source{
			Mercator: func(dst []byte, _ quadkey.Tile) ([]byte, error) { return fail(dst) }})
		if !errors.Is(err, broken) && !errors.Is(err, mvt.ErrMalformed) {
			t.Errorf("error %v", err)
		}
	}
}
