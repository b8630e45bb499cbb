package build

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
	"quadrille/tiles/verify"
)

type figure = tilestest.Figure

// featuresOf places a figure at an origin, with a scale, as one feature or as one feature per
// polygon. Either way it is one region.
func featuresOf(f figure, id string, x0, y0, scale float64, joined bool) (out []Feature) {
	mp := f.Polygons(x0, y0, scale)
	if joined {
		return []Feature{{ID: id, Geometry: mp}}
	}
	for _, p := range mp {
		out = append(out, Feature{ID: id, Geometry: p})
	}
	return out
}

var (
	bowTie = [][2]int{{2, 2}, {8, 8}, {8, 2}, {2, 8}}
	// These are rings that enclose nothing.
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

// figures returns shapes whose signed areas, added up, cancel somewhere.
func figures() map[string]figure {
	box, wide, hole := tilestest.Box(0, 0, 10, 10), tilestest.Box(-2, -2, 12, 12), tilestest.Box(1, 1, 9, 9)
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
		"an eight at a vertex as a hole": {{box, {{1, 1}, {5, 5}, {9, 1}, {9, 9}, {5, 5}, {1, 9}}}, {tilestest.Box(3, 4, 4, 6)}},
		"a hole out of its shell":        {{tilestest.Box(0, 0, 4, 10), tilestest.Box(2, 2, 8, 8)}, {tilestest.Box(6, 0, 10, 10)}},
		"a hole beside its shell":        {{tilestest.Box(0, 0, 2, 2), tilestest.Box(4, 4, 8, 8)}, {tilestest.Box(3, 3, 9, 9)}},
		"a bow-tie hole half out":        {{tilestest.Box(0, 0, 5, 10), bowTie}},
		"holes that overlap":             {{box, tilestest.Box(1, 1, 6, 6), tilestest.Box(4, 4, 9, 9)}},
		"a hole wider than its shell":    {{box, wide}, {tilestest.Box(3, 3, 6, 6)}},
		"a star":                         {{{{5, 10}, {2, 0}, {10, 6}, {0, 6}, {8, 0}}}},
		"a star in a box":                {{wide}, {{{5, 10}, {2, 0}, {10, 6}, {0, 6}, {8, 0}}}},
		"a star as a hole":               {{wide, {{5, 10}, {2, 0}, {10, 6}, {0, 6}, {8, 0}}}},
		"wound three times":              {{slices.Concat(box, box, box)}},
		"wound three times as a hole":    {{wide, slices.Concat(box, box, box)}},
		"there and half way back":        {{slices.Concat(box, [][2]int{{0, 0}}, tilestest.Box(0, 0, 10, 5))}},
		"a box on both sides":            {{tilestest.Box(0, 0, 6, 10)}, {{{4, 0}, {4, 10}, {10, 10}, {10, 0}}}},
		"a keyhole":                      {{{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}, {3, 3}, {3, 7}, {7, 7}, {7, 3}, {3, 3}}}},
	}
	for name, r := range flat {
		out[name+" as a shell"] = figure{{r}, {tilestest.Box(0, 0, 3, 3)}}
		out[name+" as a shell in a box"] = figure{{box}, {r}}
		out[name+" as a shell with a hole"] = figure{{r, tilestest.Box(3, 3, 7, 7)}, {box}}
		out[name+" as a hole"] = figure{{box, r}}
		out[name+" as a hole among others"] = figure{{box, r, tilestest.Box(6, 6, 9, 9)}}
		out[name+" as an island in a hole"] = figure{{box, hole}, {r}, {tilestest.Box(3, 3, 4, 4)}}
	}
	return out
}

// randomFigures returns figures of random rings that cross themselves.
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
		out[fmt.Sprint("in a shell ", i)] = figure{{tilestest.Box(0, 0, 10, 10)}, {random(1, 9)}}
		out[fmt.Sprint("as an island ", i)] = figure{{tilestest.Box(0, 0, 10, 10), tilestest.Box(1, 1, 9, 9)}, {random(1, 9)}}
		out[fmt.Sprint("as a hole ", i)] = figure{{tilestest.Box(-1, -1, 11, 11), random(0, 10)}}
		out[fmt.Sprint("as two holes ", i)] = figure{{random(-1, 11), random(0, 10), random(0, 10)}}
		out[fmt.Sprint("all over ", i)] = figure{{random(0, 10), random(2, 8)}, {random(0, 10), random(2, 8)}, {random(0, 10)}}
	}
	return out
}

// figurePoint is a test point in the figure's own coordinates.
type figurePoint struct {
	x, y float64
	in   bool
	far  bool // from all edges
}

// figurePoints returns random positions that are not on a figure's edges.
func figurePoints(f figure, rnd *rand.Rand, n int) (out []figurePoint) {
	for range n {
		x, y := rnd.Float64()*16-3, rnd.Float64()*16-3
		if d := f.DistanceToBoundary(x, y); d > 0.03 {
			out = append(out, figurePoint{x, y, f.Holds(x, y), d > 0.2})
		}
	}
	return out
}

// evenOdd reports whether a point lies in valid polygons.
func evenOdd(g orb.Geometry, x, y float64) bool {
	in := false
	for _, p := range tilestest.Polygons(g) {
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

// inTile reports whether a stored vector tile shows a region at a point.
func inTile(t *testing.T, r *tiles.Reader, tile quadkey.Tile, id string, lon, lat float64) bool {
	t.Helper()
	data, err := r.AppendMVT(context.Background(), nil, tile, []tiles.Selector{{Type: "land", ID: id}})
	if err != nil {
		t.Fatal(err)
	}
	side := math.Exp2(float64(tile.Z))
	x := (layout.GridX(lon)/grid.WorldSize*side - float64(tile.X)) * mvt.Extent
	y := (layout.MercatorY(lat)/grid.WorldSize*side - float64(tile.Y)) * mvt.Extent
	var v mvt.LayerView
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
			if string(v.Name) != "land" || string(v.StringTag(f, layout.TagID)) != id {
				continue
			}
			for _, pts := range ringsOf(t, f) {
				ring := orb.Ring{{float64(pts[len(pts)-1].X), float64(pts[len(pts)-1].Y)}}
				for _, q := range pts {
					ring = append(ring, orb.Point{float64(q.X), float64(q.Y)})
				}
				in = in != evenOdd(orb.Polygon{ring}, x, y)
			}
		}
	}
}

// testFigures builds each figure as a region at a place of its own, and looks up points in every
// available way.
func testFigures(t *testing.T, all map[string]figure, points int) {
	const scale = 0.01
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(71, 72))
	names := slices.Sorted(maps.Keys(all))
	layer := Layer{Type: "land"}
	origin := func(i int) (x, y float64) { return -20 + 0.3*float64(i%20), 30 + 0.3*float64(i/20) }
	id := func(i int) string { return fmt.Sprint("f", i) }
	for i, name := range names {
		x0, y0 := origin(i)
		layer.Features = append(layer.Features, featuresOf(all[name], id(i), x0, y0, scale, rnd.IntN(2) == 0)...)
	}
	r, store, _ := buildReader(t, layer)
	var empty int64
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
		} else {
			empty++
		}
		wrong := map[string]int{}
		asked := figurePoints(all[name], rnd, points)
		for _, s := range asked {
			lon, lat := x0+scale*s.x, y0+scale*s.y
			found, err := r.At(ctx, lat, lon)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(found, func(g tiles.Region) bool { return g.ID == id(i) }) != s.in {
				wrong["points"]++
			}
			if evenOdd(geometry, lon, lat) != s.in {
				wrong["region geometry"]++
			}
			for _, z := range []uint8{10, grid.MaxZoom, 16} {
				tile, err := quadkey.TileAt(lon, lat, z)
				if err != nil {
					t.Fatal(err)
				}
				if z < grid.MaxZoom && !s.far {
					continue
				}
				if inTile(t, r, tile, id(i), lon, lat) != s.in {
					wrong[fmt.Sprint("vector tiles of zoom ", z)]++
				}
				out, err := r.AppendGeoJSON(ctx, []byte(`{"type":"FeatureCollection","features":[`), tile, []tiles.Selector{{Type: "land", ID: id(i)}})
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
	// A region with a record but no area is reported as a finding.
	switch found := findings(t, store, r); {
	case empty == 0 && len(found) == 0:
	case len(found) != 1 || found[0].Problem != verify.ProblemRow || found[0].Count != empty:
		t.Errorf("%d without area: %+v", empty, found)
	}
}

func TestSelfCrossing(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	testFigures(t, figures(), 60)
}

func TestSelfCrossingRandom(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	testFigures(t, randomFigures(rand.New(rand.NewPCG(73, 74)), 20), 60)
}

// TestBowTieInBox builds a bow-tie in a box, at the scale of degrees. Earlier builds lost the lobes
// of this figure.
func TestBowTieInBox(t *testing.T) {
	r, _, _ := buildReader(t, Layer{Type: "land", Features: featuresOf(figures()["a bow-tie in a box"], "f", 0, 0, 1, true)})
	for _, lon := range []float64{1, 3, 5, 7, 9} {
		for _, lat := range []float64{1, 3, 5, 7, 9} {
			found, err := r.At(context.Background(), lat, lon)
			if err != nil || len(found) != 1 {
				t.Errorf("at %v, %v: %v, %v", lat, lon, found, err)
			}
		}
	}
}
