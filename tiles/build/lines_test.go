package build

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/planar"

	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// wander is a line of random steps, in degrees.
func wander(rnd *rand.Rand, lon, lat, step float64, n int) orb.LineString {
	l := orb.LineString{{lon, lat}}
	for range n {
		lon, lat = lon+rnd.NormFloat64()*step, lat+rnd.NormFloat64()*step
		l = append(l, orb.Point{lon, lat})
	}
	return l
}

// onTile is a line in the coordinates of a tile, by the slow way.
func onTile(l orb.LineString, t quadkey.Tile, shift float64) orb.LineString {
	scale := math.Exp2(float64(t.Z)) * 4096 / grid.WorldSize
	out := make(orb.LineString, len(l))
	for i, p := range l {
		out[i] = orb.Point{(layout.GridX(p[0])+shift*grid.WorldSize)*scale - float64(t.X)*4096, layout.MercatorY(p[1])*scale - float64(t.Y)*4096}
	}
	return out
}

// apart is the greatest distance of points of a line, within the tile, from all of the others.
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

// The lines in a tile are those of the source that lie there: at zoom 13 and deeper within the
// rounding of the grid, above within what simplification may leave out.
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
	if types := r.Types(); !types[0].Lines || types[1].Lines {
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
	// No question finds a line, and the tiles of other layers are as they are without lines.
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
	if one, err := r.AppendMVT(t.Context(), nil, tile, []tiles.Selector{{Type: "river", ID: "c"}}); err != nil || strings.Contains(string(one), "river_line") {
		t.Errorf("line c is not in %v: %q, %v", tile, one, err)
	}
}

func TestLinesRefused(t *testing.T) {
	line := orb.LineString{{1, 1}, {2, 2}}
	for want, features := range map[string][]Feature{
		"river has lines and polygons: give each a type of its own": {{ID: "a", Geometry: line}, {ID: "b", Geometry: tilestest.Square(1, 1, 2, 2)}},
		"river a (): geometry cannot be used: the position NaN, 1 is outside the world: coordinates must be longitude, latitude in degrees (WGS84)": {
			{ID: "a", Geometry: orb.LineString{{math.NaN(), 1}, {2, 2}}}},
		"river has no features that enclose anything: name a file that has some": {{ID: "a", Geometry: orb.LineString{{1, 1}, {1, 1}}}},
	} {
		_, _, err := Run(t.Context(), tilestest.OpenStore(t), []Layer{{Type: "river", Features: features}}, Options{Timestamp: 1})
		if err == nil || !strings.HasSuffix(err.Error(), want) || !errors.Is(err, ErrBadLayer) && !errors.Is(err, ErrBadGeometry) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
