package tiles

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/quadkey"
	"quadrille/tiles/mvt"
)

// A figure is polygons as a source might draw them: a shell and its holes each,
// of whole coordinates.
type figure [][][][2]int

// winds counts how often a ring goes around a point that lies on none of its
// edges, by the quadrants it passes: it shares nothing with what is tested.
func winds(ring [][2]int, x, y float64) int {
	quadrant := func(p [2]int) int {
		dx, dy := float64(p[0])-x, float64(p[1])-y
		switch {
		case dx >= 0 && dy >= 0:
			return 0
		case dx < 0 && dy >= 0:
			return 1
		case dx < 0:
			return 2
		}
		return 3
	}
	quarters := 0
	for i, p := range ring {
		q := ring[(i+1)%len(ring)]
		switch step := (quadrant(q) - quadrant(p) + 4) % 4; step {
		case 1:
			quarters++
		case 3:
			quarters--
		case 2:
			if (float64(p[0])-x)*(float64(q[1])-y)-(float64(q[0])-x)*(float64(p[1])-y) > 0 {
				quarters += 2
			} else {
				quarters -= 2
			}
		}
	}
	return quarters / 4
}

// holds says what the figure's source means: a point is inside if some shell
// winds around it and none of the same polygon's holes does.
func (f figure) holds(x, y float64) bool {
	return slices.ContainsFunc(f, func(p [][][2]int) bool {
		return len(p) > 0 && winds(p[0], x, y) != 0 &&
			!slices.ContainsFunc(p[1:], func(hole [][2]int) bool { return winds(hole, x, y) != 0 })
	})
}

// apart is how far a point lies from the edges.
func (f figure) apart(x, y float64) float64 {
	least := math.Inf(1)
	for _, p := range f {
		for _, r := range p {
			for i, a := range r {
				b := r[(i+1)%len(r)]
				ax, ay := float64(a[0])-x, float64(a[1])-y
				dx, dy := float64(b[0]-a[0]), float64(b[1]-a[1])
				t := 0.0
				if l := dx*dx + dy*dy; l > 0 {
					t = max(0, min(1, -(ax*dx+ay*dy)/l))
				}
				least = min(least, math.Hypot(ax+t*dx, ay+t*dy))
			}
		}
	}
	return least
}

// withoutLines leaves out the rings that lie on one straight line: they border on
// nothing, and a polygon with such a shell holds nothing.
func (f figure) withoutLines() (out figure) {
	for _, p := range f {
		var rings [][][2]int
		for i, r := range p {
			if i > len(rings) && len(rings) == 0 {
				break // the shell was a line
			}
			if slices.ContainsFunc(r, func(q [2]int) bool {
				return slices.ContainsFunc(r, func(u [2]int) bool {
					return (q[0]-r[0][0])*(u[1]-r[0][1]) != (u[0]-r[0][0])*(q[1]-r[0][1])
				})
			}) {
				rings = append(rings, r)
			}
		}
		out = append(out, rings)
	}
	return out
}

// features places a figure at an origin, with a scale, as one feature or as one
// per polygon, which are one region all the same.
func (f figure) features(id string, x0, y0, scale float64, joined bool) []Feature {
	var mp orb.MultiPolygon
	for _, p := range f {
		var poly orb.Polygon
		for _, r := range p {
			var ring orb.Ring
			for _, q := range r {
				ring = append(ring, orb.Point{x0 + scale*float64(q[0]), y0 + scale*float64(q[1])})
			}
			poly = append(poly, append(ring, ring[0]))
		}
		mp = append(mp, poly)
	}
	if joined {
		return []Feature{{ID: id, Geometry: mp}}
	}
	var out []Feature
	for _, p := range mp {
		out = append(out, Feature{ID: id, Geometry: p})
	}
	return out
}

func quad(x0, y0, x1, y1 int) [][2]int {
	return [][2]int{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}
}

var (
	bowTie = [][2]int{{2, 2}, {8, 8}, {8, 2}, {2, 8}}
	// Rings that enclose nothing.
	flat = map[string][][2]int{
		"a point":          {{5, 5}, {5, 5}, {5, 5}},
		"there and back":   {{2, 5}, {8, 5}, {2, 5}},
		"a line":           {{2, 2}, {8, 8}, {4, 4}},
		"a bent line":      {{2, 2}, {6, 4}, {8, 8}, {6, 4}},
		"a line of many":   {{2, 5}, {4, 5}, {3, 5}, {8, 5}, {5, 5}, {6, 5}},
		"a ring and back":  {{2, 2}, {8, 2}, {8, 8}, {2, 2}, {8, 8}, {8, 2}},
		"a star of spikes": {{5, 5}, {8, 5}, {5, 5}, {5, 8}, {5, 5}, {2, 2}},
	}
)

// figures are those whose areas cancel somewhere if they are added up with their
// signs.
func figures() map[string]figure {
	box, wide, hole := quad(0, 0, 10, 10), quad(-2, -2, 12, 12), quad(1, 1, 9, 9)
	back := slices.Clone(bowTie)
	slices.Reverse(back)
	out := map[string]figure{
		"a bow-tie":                      {{bowTie}},
		"a bow-tie in a box":             {{box}, {bowTie}},
		"a bow-tie before a box":         {{bowTie}, {box}},
		"a bow-tie as a hole":            {{box, bowTie}},
		"a bow-tie as an island":         {{box, hole}, {bowTie}},
		"two bow-ties, one back":         {{bowTie}, {back}},
		"a bow-tie as its own hole":      {{bowTie, back}},
		"an uneven bow-tie":              {{{{1, 1}, {9, 9}, {9, 3}, {2, 8}}}},
		"an uneven bow-tie in a box":     {{box}, {{{1, 1}, {9, 9}, {9, 3}, {2, 8}}}},
		"an uneven bow-tie as a hole":    {{box, {{1, 1}, {9, 9}, {9, 3}, {2, 8}}}},
		"bow-ties as two holes":          {{box, bowTie, {{2, 2}, {2, 8}, {8, 2}, {8, 8}}}},
		"an eight at a vertex":           {{{{1, 1}, {5, 5}, {9, 1}, {9, 9}, {5, 5}, {1, 9}}}},
		"an eight at a vertex as a hole": {{box, {{1, 1}, {5, 5}, {9, 1}, {9, 9}, {5, 5}, {1, 9}}}, {quad(3, 4, 4, 6)}},
		"a hole out of its shell":        {{quad(0, 0, 4, 10), quad(2, 2, 8, 8)}, {quad(6, 0, 10, 10)}},
		"a hole beside its shell":        {{quad(0, 0, 2, 2), quad(4, 4, 8, 8)}, {quad(3, 3, 9, 9)}},
		"a bow-tie hole half out":        {{quad(0, 0, 5, 10), bowTie}},
		"holes that overlap":             {{box, quad(1, 1, 6, 6), quad(4, 4, 9, 9)}},
		"a hole wider than its shell":    {{box, wide}, {quad(3, 3, 6, 6)}},
		"a star":                         {{{{5, 10}, {2, 0}, {10, 6}, {0, 6}, {8, 0}}}},
		"a star in a box":                {{wide}, {{{5, 10}, {2, 0}, {10, 6}, {0, 6}, {8, 0}}}},
		"a star as a hole":               {{wide, {{5, 10}, {2, 0}, {10, 6}, {0, 6}, {8, 0}}}},
		"wound three times":              {{slices.Concat(box, box, box)}},
		"wound three times as a hole":    {{wide, slices.Concat(box, box, box)}},
		"there and half way back":        {{slices.Concat(box, [][2]int{{0, 0}}, quad(0, 0, 10, 5))}},
		"a box on both sides":            {{quad(0, 0, 6, 10)}, {{{4, 0}, {4, 10}, {10, 10}, {10, 0}}}},
		"a keyhole":                      {{{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}, {3, 3}, {3, 7}, {7, 7}, {7, 3}, {3, 3}}}},
	}
	for name, r := range flat {
		out[name+" as a shell"] = figure{{r}, {quad(0, 0, 3, 3)}}
		out[name+" as a shell in a box"] = figure{{box}, {r}}
		out[name+" as a shell with a hole"] = figure{{r, quad(3, 3, 7, 7)}, {box}}
		out[name+" as a hole"] = figure{{box, r}}
		out[name+" as a hole among others"] = figure{{box, r, quad(6, 6, 9, 9)}}
		out[name+" as an island in a hole"] = figure{{box, hole}, {r}, {quad(3, 3, 4, 4)}}
	}
	return out
}

// randomFigures are of random rings that cross themselves.
func randomFigures(rnd *rand.Rand, n int) map[string]figure {
	random := func(from, to int) (r [][2]int) {
		for range 4 + rnd.IntN(6) {
			r = append(r, [2]int{from + rnd.IntN(to-from+1), from + rnd.IntN(to-from+1)})
		}
		return r
	}
	out := map[string]figure{}
	for i := range n {
		out[fmt.Sprint("alone ", i)] = figure{{random(0, 10)}}
		out[fmt.Sprint("in a shell ", i)] = figure{{quad(0, 0, 10, 10)}, {random(1, 9)}}
		out[fmt.Sprint("as an island ", i)] = figure{{quad(0, 0, 10, 10), quad(1, 1, 9, 9)}, {random(1, 9)}}
		out[fmt.Sprint("as a hole ", i)] = figure{{quad(-1, -1, 11, 11), random(0, 10)}}
		out[fmt.Sprint("as two holes ", i)] = figure{{random(-1, 11), random(0, 10), random(0, 10)}}
		out[fmt.Sprint("all over ", i)] = figure{{random(0, 10), random(2, 8)}, {random(0, 10), random(2, 8)}, {random(0, 10)}}
	}
	return out
}

// figurePoint is a place a figure is asked about, in its own coordinates.
type figurePoint struct {
	x, y float64
	in   bool
	far  bool // from all edges
}

// figurePoints are random places off a figure's edges.
func (f figure) figurePoints(rnd *rand.Rand, n int) (out []figurePoint) {
	for range n {
		x, y := rnd.Float64()*16-3, rnd.Float64()*16-3
		if d := f.apart(x, y); d > 0.03 {
			out = append(out, figurePoint{x, y, f.holds(x, y), d > 0.2})
		}
	}
	return out
}

// evenOdd tells whether a point lies in valid polygons.
func evenOdd(g orb.Geometry, x, y float64) bool {
	in := false
	for _, p := range polygonsIn(g) {
		for _, r := range p {
			for i := 1; i < len(r); i++ {
				a, b := r[i-1], r[i]
				if (a[1] <= y) != (b[1] <= y) && x < a[0]+(y-a[1])/(b[1]-a[1])*(b[0]-a[0]) {
					in = !in
				}
			}
		}
	}
	return in
}

func polygonsIn(g orb.Geometry) orb.MultiPolygon {
	switch g := g.(type) {
	case orb.Polygon:
		return orb.MultiPolygon{g}
	case orb.MultiPolygon:
		return g
	}
	return nil
}

// inTile tells whether a stored vector tile shows a region at a point.
func inTile(t *testing.T, r *Reader, tile quadkey.Tile, id string, lon, lat float64) bool {
	t.Helper()
	data, err := r.AppendMVT(context.Background(), nil, tile, []Selector{{Type: "land", ID: id}})
	if err != nil {
		t.Fatal(err)
	}
	side := math.Exp2(float64(tile.Z))
	x := (gridX(lon)/worldSize*side - float64(tile.X)) * mvt.Extent
	y := (mercatorY(lat)/worldSize*side - float64(tile.Y)) * mvt.Extent
	var v mvt.View
	in := false
	for {
		rest, ok, err := mvt.NextLayer(data, &v)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return in
		}
		data = rest
		for i := range v.Len() {
			f, err := v.Feature(i)
			if err != nil {
				t.Fatal(err)
			}
			if string(v.Name) != "land" || string(v.StringTag(f, tagID)) != id {
				continue
			}
			var p mvt.Path
			for p.Reset(f); ; {
				pts, _, ok, err := p.Next(nil)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				ring := orb.Ring{{float64(pts[len(pts)-1].X), float64(pts[len(pts)-1].Y)}}
				for _, q := range pts {
					ring = append(ring, orb.Point{float64(q.X), float64(q.Y)})
				}
				in = in != evenOdd(orb.Polygon{ring}, x, y)
			}
		}
	}
}

// testFigures builds figures, each a region of its own place, and asks for
// points of them in every way there is.
func testFigures(t *testing.T, all map[string]figure, points int) {
	const scale = 0.01
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(71, 72))
	names := sortedKeys(all)
	layer := Layer{Type: "land"}
	origin := func(i int) (x, y float64) { return -20 + 0.3*float64(i%20), 30 + 0.3*float64(i/20) }
	id := func(i int) string { return fmt.Sprint("f", i) }
	for i, name := range names {
		x0, y0 := origin(i)
		layer.Features = append(layer.Features, all[name].features(id(i), x0, y0, scale, rnd.IntN(2) == 0)...)
	}
	r, store, _ := buildReader(t, layer)
	for i, name := range names {
		x0, y0 := origin(i)
		record, err := r.Region(ctx, "land", id(i), true)
		if err != nil {
			t.Fatal(err)
		}
		var rec struct {
			Geometry *geojson.Geometry `json:"geometry"`
		}
		if err := json.Unmarshal(record, &rec); err != nil {
			t.Fatal(err)
		}
		var geometry orb.Geometry
		if rec.Geometry != nil {
			geometry = rec.Geometry.Geometry()
		}
		wrong := map[string]int{}
		asked := all[name].figurePoints(rnd, points)
		for _, s := range asked {
			lon, lat := x0+scale*s.x, y0+scale*s.y
			found, err := r.At(ctx, lat, lon)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(found, func(g Region) bool { return g.ID == id(i) }) != s.in {
				wrong["points"]++
			}
			if evenOdd(geometry, lon, lat) != s.in {
				wrong["region geometry"]++
			}
			for _, z := range []uint8{10, MaxZoom, 16} {
				tile, err := quadkey.TileAt(lon, lat, z)
				if err != nil {
					t.Fatal(err)
				}
				if z < MaxZoom && !s.far {
					continue
				}
				if inTile(t, r, tile, id(i), lon, lat) != s.in {
					wrong[fmt.Sprint("vector tiles of zoom ", z)]++
				}
				out, err := r.AppendGeoJSON(ctx, []byte(`{"type":"FeatureCollection","features":[`), tile, []Selector{{Type: "land", ID: id(i)}})
				if err != nil {
					t.Fatal(err)
				}
				fc, err := geojson.UnmarshalFeatureCollection(append(out, `]}`...))
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(fc.Features, func(f *geojson.Feature) bool { return evenOdd(f.Geometry, lon, lat) }) != s.in {
					wrong[fmt.Sprint("GeoJSON tiles of zoom ", z)]++
				}
			}
		}
		if len(wrong) > 0 {
			t.Errorf("%s %v: of %d points are wrong %v", name, all[name], len(asked), wrong)
		}
	}
	if report := verify(t, store, r.meta); len(report.Findings) > 0 {
		t.Errorf("%s", describeFindings(report))
	}
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestSelfCrossing(t *testing.T) { testFigures(t, figures(), 60) }

func TestSelfCrossingRandom(t *testing.T) {
	testFigures(t, randomFigures(rand.New(rand.NewPCG(73, 74)), 20), 60)
}

// The bow-tie of the whole size of degrees, whose lobes a box around it lost.
func TestBowTieInBox(t *testing.T) {
	r, _, _ := buildReader(t, Layer{Type: "land", Features: figures()["a bow-tie in a box"].features("f", 0, 0, 1, true)})
	for _, lon := range []float64{1, 3, 5, 7, 9} {
		for _, lat := range []float64{1, 3, 5, 7, 9} {
			found, err := r.At(context.Background(), lat, lon)
			if err != nil || len(found) != 1 {
				t.Errorf("at %v, %v: %v, %v", lat, lon, found, err)
			}
		}
	}
}
