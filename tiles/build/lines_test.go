package build

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/planar"

	"quadrille/feature"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// wander returns a line of random steps, in degrees.
func wander(rnd *rand.Rand, lon, lat, step float64, n int) orb.LineString {
	l := orb.LineString{{lon, lat}}
	for range n {
		lon, lat = lon+rnd.NormFloat64()*step, lat+rnd.NormFloat64()*step
		l = append(l, orb.Point{lon, lat})
	}
	return l
}

// onTile converts a line to the coordinates of a tile, the slow way.
func onTile(l orb.LineString, t quadkey.Tile, shift float64) orb.LineString {
	scale := math.Exp2(float64(t.Z)) * 4096 / grid.WorldSize
	out := make(orb.LineString, len(l))
	for i, p := range l {
		out[i] = orb.Point{(layout.GridX(p[0])+shift*grid.WorldSize)*scale - float64(t.X)*4096, layout.MercatorY(p[1])*scale - float64(t.Y)*4096}
	}
	return out
}

// apart returns the greatest distance of a line's points within the tile from the nearest of the
// other lines.
func apart(l orb.LineString, others []orb.LineString) (most float64) {
	for i := 1; i < len(l); i++ {
		for k := range 9 {
			f := float64(k) / 8
			p := orb.Point{l[i-1][0] + f*(l[i][0]-l[i-1][0]), l[i-1][1] + f*(l[i][1]-l[i-1][1])}
			if p[0] < 0 || p[0] > 4096 || p[1] < 0 || p[1] > 4096 {
				continue
			}
			least := math.Inf(1)
			for _, o := range others {
				least = min(least, planar.DistanceFrom(o, p))
			}
			most = max(most, least)
		}
	}
	return most
}

// A tile has the lines of the source that lie there. From zoom 13 on they differ by the rounding of
// the grid, and at lower zooms by the tolerance of simplification.
func TestLinesAgainstSource(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	sources := []orb.LineString{
		wander(rnd, 8, 47, 0.02, 60), wander(rnd, 8.1, 47.1, 0.02, 60), wander(rnd, 179.95, -17, 0.03, 60),
		{{8.3, 47.3}, {8.4, 47.35}, {8.3, 47.3}}, // there and back
	}
	river := func() Layer {
		return Layer{Type: "river", Features: []Feature{
			{ID: "a", Name: "A", Geometry: orb.MultiLineString{slices.Clone(sources[0]), slices.Clone(sources[1])}},
			{ID: "b", Name: "B", Geometry: slices.Clone(sources[2])},
			{ID: "c", Name: "C", Geometry: slices.Clone(sources[3])},
		}}
	}
	land := Layer{Type: "land", Features: []Feature{{ID: "x", Name: "X", Geometry: tilestest.Square(7.95, 46.9, 8.2, 47.2)}}}
	alone, _, _ := buildReader(t, Layer{Type: land.Type, Features: slices.Clone(land.Features)})
	r, store, _ := buildReader(t, river(), land)
	if f := faults(t, store, r); f != "" {
		t.Error(f)
	}
	text, err := r.AppendGeoJSON(t.Context(), nil, quadkey.Tile{}, []tiles.Selector{{Type: "river", ID: "A"}})
	if err != nil || strings.Count(string(text), `"Feature"`) != 1 || !strings.Contains(string(text), `"id":"river:a"`) {
		t.Errorf("the line of an id in other letters: %.200s, %v", text, err)
	}
	if types := r.Types(); !types[0].IsLines || types[1].IsLines {
		t.Errorf("want river to be lines and land not: %+v", types)
	}
	seen := 0
	for z := range uint8(17) {
		done := map[quadkey.Tile]bool{}
		for n, l := range sources {
			for range 6 {
				p := l[rnd.IntN(len(l))]
				tile, err := quadkey.TileAt(math.Mod(p[0]+540, 360)-180, p[1], z)
				if err != nil {
					t.Fatal(err)
				}
				if done[tile] {
					continue
				}
				done[tile] = true
				data, err := r.AppendMVT(t.Context(), nil, tile, []tiles.Selector{{Type: "river"}})
				if err != nil {
					t.Fatal(err)
				}
				layers, err := orbmvt.Unmarshal(data)
				if err != nil {
					t.Fatal(err)
				}
				var got []orb.LineString
				for _, layer := range layers {
					if layer.Name != "river_line" {
						t.Fatalf("%v has a layer %s", tile, layer.Name)
					}
					for _, f := range layer.Features {
						if name := f.Properties.MustString("name"); name != strings.ToUpper(f.Properties.MustString("id")) {
							t.Errorf("%v: %v", tile, f.Properties)
						}
						switch g := f.Geometry.(type) {
						case orb.LineString:
							got = append(got, g)
						case orb.MultiLineString:
							got = append(got, g...)
						}
					}
				}
				var want []orb.LineString
				for _, s := range sources {
					for _, shift := range []float64{-1, 0, 1} {
						want = append(want, onTile(s, tile, shift))
					}
				}
				bound := 80.0
				if z >= grid.MaxZoom {
					bound = 1.5 * math.Exp2(float64(z-grid.MaxZoom))
				}
				for _, l := range want {
					if d := apart(l, got); d > bound {
						t.Errorf("%v: line %d of the source is %.1f steps from those of the tile, want at most %.1f", tile, n, d, bound)
					}
				}
				for _, l := range got {
					seen++
					if d := apart(l, want); d > bound {
						t.Errorf("%v: a line is %.1f steps from those of the source, want at most %.1f", tile, d, bound)
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d lines were seen", seen)
	}
	// Lookups at points do not find lines. Lines do not change the tiles of other layers.
	p := sources[0][0]
	if at, err := r.At(t.Context(), p[1], p[0]); err != nil || len(at) != 1 || at[0].Type != "land" {
		t.Errorf("at a line: %v, %v", at, err)
	}
	if found, err := r.Nearest(t.Context(), p[1], p[0], 1000, "river"); err != nil || len(found) != 1 || found[0].ID != "" {
		t.Errorf("nearest to a line: %v, %v", found, err)
	}
	tile, _ := quadkey.TileAt(p[0], p[1], 9)
	var both [2][]byte
	for i, r := range []*tiles.Reader{alone, r} {
		var err error
		if both[i], err = r.AppendMVT(t.Context(), nil, tile, []tiles.Selector{{Type: "land"}}); err != nil {
			t.Fatal(err)
		}
	}
	if string(both[0]) != string(both[1]) {
		t.Error("a tile of land is another beside lines")
	}
	if one, err := r.AppendMVT(t.Context(), nil, tile, []tiles.Selector{{Type: "river", ID: "c"}}); err != nil ||
		strings.Contains(string(one), "river_line") {
		t.Errorf("line c is not in %v: %q, %v", tile, one, err)
	}
}

// inBox reports by sampling, in degrees, whether a box has a part of the lines.
func inBox(lines []orb.LineString, b quadkey.Box) bool {
	for _, l := range lines {
		for i := 1; i < len(l); i++ {
			for k := range 65 {
				f := float64(k) / 64
				if b.Contains(wrapped(l[i-1][0]+f*(l[i][0]-l[i-1][0])), l[i-1][1]+f*(l[i][1]-l[i-1][1])) {
					return true
				}
			}
		}
	}
	return false
}

func wrapped(lon float64) float64 { return math.Mod(lon+540, 360) - 180 }

// linesOf returns the lines of a GeoJSON geometry.
func linesOf(t *testing.T, g orb.Geometry) []orb.LineString {
	t.Helper()
	switch g := g.(type) {
	case orb.LineString:
		return []orb.LineString{g}
	case orb.MultiLineString:
		return g
	}
	t.Fatalf("%T is no line", g)
	return nil
}

// Records, features, boxes, parts in a box and GeoJSON tiles have the same lines as vector tiles.
func TestLinesInEveryForm(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	of := map[string][]orb.LineString{
		"a": {wander(rnd, 8, 47, 0.02, 60), wander(rnd, 8.1, 47.1, 0.02, 60)},
		"b": {{{179.9, -17}, {180.1, -17.1}, {179.95, -17.2}, {180.2, -17.3}}},
		"c": {{{8.3, 47.3}, {8.4, 47.35}, {8.3, 47.3}}},
		"d": {{{180, 10}, {180, 11}}}, // along the seam
		"e": {{{-20, 5}, {20, 5}}},    // without height
	}
	river := Layer{Type: "river"}
	for id, l := range of {
		clones := orb.MultiLineString{}
		for _, one := range l {
			clones = append(clones, one.Clone())
		}
		river.Features = append(river.Features, Feature{ID: id, Name: strings.ToUpper(id), Geometry: clones})
	}
	r, store, _ := buildReader(t, river)
	if f := faults(t, store, r); f != "" {
		t.Error(f)
	}
	layer, err := r.Layer("river")
	if err != nil {
		t.Fatal(err)
	}
	records := map[string][]orb.LineString{}
	for f, err := range layer.Features(t.Context(), &feature.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		shape, err := f.Orb()
		if err != nil {
			t.Fatal(err)
		}
		records[f.ID] = linesOf(t, shape)
		text, err := r.Region(t.Context(), "river", f.ID, true)
		if geometry, _ := f.AppendGeometry(nil, nil); err != nil || !strings.HasSuffix(string(text), `,"geometry":`+string(geometry)+"}") {
			t.Errorf("record %s: %s, %v", f.ID, text, err)
		}
	}
	for id, lines := range of {
		points := 0
		for _, l := range records[id] {
			for _, p := range l {
				points++
				if math.Abs(p[0]) > 180 {
					t.Errorf("%s: %v is beyond ±180°", id, p)
				}
				least := math.Inf(1)
				for _, s := range lines {
					for _, turn := range []float64{-360, 0, 360} {
						least = min(least, planar.DistanceFrom(s, orb.Point{p[0] + turn, p[1]}))
					}
				}
				if least > 1e-7 {
					t.Errorf("%s: %v is %v degrees from the source", id, p, least)
				}
			}
		}
		source := 0
		for _, l := range lines {
			source += len(l)
		}
		if points < source {
			t.Errorf("%s: %d points of %d: %v", id, points, source, records[id])
		}
	}
	if got := records["b"]; len(got) != 4 || got[1][0] != (orb.Point{-180, -17.05}) || got[0][1] != (orb.Point{180, -17.05}) {
		t.Errorf("across ±180°: %v", got)
	}
	if got := records["d"]; len(got) != 1 || got[0][0][0] != 180 {
		t.Errorf("along ±180°: %v", got)
	}
	found, parts := 0, 0
	for range 300 {
		l := slices.Collect(maps.Values(of))[rnd.IntN(len(of))][0]
		p, w := l[rnd.IntN(len(l))], math.Exp2(-12*rnd.Float64())
		box := quadkey.Box{
			West: wrapped(p[0] - w*(0.1+rnd.Float64())), South: p[1] - w*(0.1+rnd.Float64()),
			East: wrapped(p[0] + w*(0.1+rnd.Float64())), North: p[1] + w*(0.1+rnd.Float64()),
		}
		got := map[string]bool{}
		for f, err := range layer.Features(t.Context(), &feature.Query{In: feature.Box(box), Detail: feature.WithoutGeometry}) {
			if err != nil {
				t.Fatal(err)
			}
			got[f.ID] = true
		}
		grown := quadkey.Box{West: box.West - 1e-4, South: box.South - 1e-4, East: box.East + 1e-4, North: box.North + 1e-4}
		// The grid of tiles rounds a line by half of 1.1e-5 degrees, which may move it out of the
		// box or into it.
		shrunk := quadkey.Box{West: box.West + 1e-5, South: box.South + 1e-5, East: box.East - 1e-5, North: box.North - 1e-5}
		for id, lines := range of {
			found++
			if is, must, may := got[id], inBox(lines, shrunk), inBox(records[id], grown); must && !is || is && !may {
				t.Errorf("%s in %v: %v, want %v", id, box, is, must)
			}
			text, zoom, err := r.AppendCutout(t.Context(), nil, "river", id, box)
			if err != nil || zoom != grid.MaxZoom {
				t.Fatal(zoom, err)
			}
			if len(text) == 0 {
				continue
			}
			parts++
			f, err := geojson.UnmarshalFeature(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for _, l := range linesOf(t, f.Geometry) {
				for _, p := range l {
					if !grown.Contains(p[0], p[1]) {
						t.Errorf("%s in %v: its part has %v", id, box, p)
					}
				}
			}
		}
	}
	if parts < 250 {
		t.Errorf("%d parts of %d", parts, found)
	}
	for z := range uint8(16) {
		tile, err := quadkey.TileAt(8.3, 47.3, z)
		if err != nil {
			t.Fatal(err)
		}
		text, err := r.AppendGeoJSON(t.Context(), []byte(`{"type":"FeatureCollection","features":[`), tile,
			[]tiles.Selector{{Type: "river", ID: "c"}})
		if err != nil {
			t.Fatal(err)
		}
		fc, err := geojson.UnmarshalFeatureCollection(append(text, "]}"...))
		if err != nil || len(fc.Features) != 1 || fc.Features[0].Properties["name"] != "C" {
			t.Fatalf("%v: %s %v", tile, text, err)
		}
		b := tile.Bound()
		for _, l := range linesOf(t, fc.Features[0].Geometry) {
			for _, p := range l {
				step := 360 / math.Exp2(float64(z)+12)
				if far := planar.DistanceFrom(of["c"][0], p); far > 80*step || p[0] < b.West-step || p[0] > b.East+step {
					t.Errorf("%v: %v is %v degrees away", tile, p, far)
				}
			}
		}
	}
}

// TestLinesTooLong tests that lineGeometry gives lines fewer decimals if they would be too long for
// a value. Lines that are too long even then are refused.
func TestLinesTooLong(t *testing.T) {
	r := &region{lines: []ring{ring(wander(rand.New(rand.NewPCG(1, 2)), 8, 47, 0.0005, 10_000)), {{8, 47}, {8.000001, 47}}}}
	whole, ok := r.lineGeometry(1 << 30)
	if short, fits := r.lineGeometry(len(whole) / 3); !ok || !fits || len(short) > len(whole)/3 || !json.Valid(short) {
		t.Errorf("%d bytes became %d: %.200s", len(whole), len(short), short)
	}
	if _, fits := r.lineGeometry(100); fits {
		t.Error("ten thousand points are 100 bytes")
	}
	if short, fits := (&region{lines: r.lines[1:]}).lineGeometry(60); !fits || !json.Valid(short) {
		t.Errorf("a line shorter than a step: %s", short)
	}
}

func TestLinesRefused(t *testing.T) {
	line := orb.LineString{{1, 1}, {2, 2}}
	for want, features := range map[string][]Feature{
		"river has lines and polygons: give each a type of its own": {
			{ID: "a", Geometry: line},
			{ID: "b", Geometry: tilestest.Square(1, 1, 2, 2)},
		},
		"river a (): geometry cannot be used: the position NaN, 1 is outside the world: coordinates must be longitude, " +
			"latitude in degrees (WGS84)": {
			{ID: "a", Geometry: orb.LineString{{math.NaN(), 1}, {2, 2}}}},
		"river has no features that enclose anything: name a file that has some": {{ID: "a", Geometry: orb.LineString{{1, 1}, {1, 1}}}},
	} {
		_, _, err := Run(t.Context(), tilestest.OpenStore(t), []Layer{{Type: "river", Features: features}}, Options{Timestamp: 1})
		if err == nil || !strings.HasSuffix(err.Error(), want) || !errors.Is(err, ErrBadLayer) && !errors.Is(err, ErrBadGeometry) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
